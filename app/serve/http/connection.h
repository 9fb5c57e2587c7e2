// Connection: the socket of one client, bounded in bytes and in time. It carries one request.
//   stream   between begin_stream() and end_stream() no write waits for the client: what it does
//            not take at once is kept, up to stream_bytes, and goes with the next write or flush()
//   owns     the socket
//   threads  one reads and writes; flush(), left() and gone() are for any
#pragma once

#include <cstddef>
#include <mutex>
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
  double head_ms = 10'000;              // from the connection to the end of the headers
  double request_ms = 60'000;           // from the connection to the end of the body
  double write_ms = 5'000;              // in which a client that reads nothing has left; all such
                                        // waiting together may take request_ms
  std::size_t stream_bytes = 4u << 20;  // that a streamed answer may be ahead of its client;
                                        // chosen: an answer of 10,000 tokens and more
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
  void begin_stream();
  bool end_stream();  // waits until the client has taken all, or left: false
  void flush();       // what is kept, as far as the client takes it now
  // The headers were read: the body may follow.
  void end_head() { is_head_ = false; }
  // Takes no more from the client, and lets it read what was written to the end.
  void close_gently();

  bool left() const;  // the client closed its side
  std::stop_source& gone() { return gone_; }

 private:
  bool wait(short events, double until_ms) const;
  std::size_t bytes_max() const;
  // Removes from the bytes what the client takes now; false: it left.
  bool send_now(std::string_view& bytes);
  bool write_waiting(std::string_view bytes);
  bool send_kept();  // needs the mutex; false: it left, or takes nothing

  const int socket_;
  const HttpLimits limits_;
  const SystemClock clock_;
  const double began_ms_;
  std::stop_source gone_;
  bool is_head_ = true;
  std::size_t n_read_ = 0;
  double waited_ms_ = 0;  // for a client that reads slowly
  std::mutex mutex_;      // of what follows, up to the buffer; who writes reads streams_ without
  bool streams_ = false;  // only who writes changes it
  std::string kept_;      // from kept_at_ on
  std::size_t kept_at_ = 0;
  double taken_ms_ = 0;  // when the client last took something, or all was taken
  char buffer_[4096];
  std::size_t at_ = 0, end_ = 0;  // of the buffer
};

}  // namespace satchel::serve
