// Connection: the socket of one client, bounded in bytes and in time. It carries one request.
//   owns     the socket
//   threads  one reads and writes; left() and gone() are for any
#pragma once

#include <cstddef>
#include <stop_token>
#include <string>
#include <string_view>

#include "kernels/base/clock.h"

namespace satchel::serve {

struct HttpLimits {
  std::size_t head_bytes = 32u << 10;  // request line and headers
  std::size_t n_headers = 64;
  std::size_t body_bytes = 32u << 20;
  std::size_t n_connections = 64;
  double head_ms = 10'000;     // from the connection to the end of the headers
  double request_ms = 60'000;  // from the connection to the end of the body
  double write_ms = 5'000;     // in which a client that reads nothing has left; all such
                               // waiting together may take request_ms
};

class Connection {
 public:
  Connection(int socket, const HttpLimits& limits);
  ~Connection();
  Connection(Connection&&) = delete;

  int socket() const { return socket_; }
  // At least one byte; 0: the client has closed; -1: it is too slow, or sends more than it may.
  std::ptrdiff_t read(char* to, std::size_t n);
  // All of it, or false: the client left.
  bool write(std::string_view bytes);
  // The headers were read: the body may follow.
  void end_head() { is_head_ = false; }
  // Takes no more from the client, and lets it read what was written to the end.
  void close_gently();

  bool left() const;  // the client closed its side
  std::stop_source& gone() { return gone_; }

 private:
  bool wait(short events, double until_ms) const;
  std::size_t bytes_max() const;

  const int socket_;
  const HttpLimits limits_;
  const SystemClock clock_;
  const double began_ms_;
  std::stop_source gone_;
  bool is_head_ = true;
  std::size_t n_read_ = 0;
  double waited_ms_ = 0;  // for a client that reads slowly: others wait meanwhile
  char buffer_[4096];
  std::size_t at_ = 0, end_ = 0;  // of the buffer
};

}  // namespace satchel::serve
