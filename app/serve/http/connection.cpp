#include "app/serve/http/connection.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace satchel::serve {
namespace {

// What a closing connection still takes from a client that has not stopped writing; without it the
// client's system would throw away the answer unread. Chosen, not measured.
constexpr double kDrainMs = 500;
constexpr std::size_t kDrainBytes = 4u << 20;
// A body in chunks of 16 bytes and more comes to less than twice its bytes.
constexpr std::size_t kFraming = 2;

}  // namespace

Connection::Connection(int socket, const HttpLimits& limits)
    : socket_(socket), limits_(limits), began_ms_(clock_.steady_ms()) {}

Connection::~Connection() {
  close(socket_);
}

std::size_t Connection::bytes_max() const {
  return limits_.head_bytes + (is_head_ ? 0 : kFraming * limits_.body_bytes);
}

bool Connection::wait(short events, double until_ms) const {
  for (;;) {
    const double left_ms = until_ms - clock_.steady_ms();
    if (left_ms <= 0 || gone_.stop_requested()) return false;
    // In slices, so that a server that ends need not wait for a client.
    pollfd one{.fd = socket_, .events = events, .revents = 0};
    const int ready = poll(&one, 1, static_cast<int>(std::min(left_ms, 100.0)) + 1);
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

std::ptrdiff_t Connection::read(char* to, std::size_t n) {
  if (at_ == end_) {
    if (n_read_ >= bytes_max()) return -1;
    if (!wait(POLLIN, began_ms_ + (is_head_ ? limits_.head_ms : limits_.request_ms))) return -1;
    const std::size_t most = std::min(sizeof buffer_, bytes_max() - n_read_);
    const ssize_t got = recv(socket_, buffer_, most, 0);
    if (got <= 0) return got;
    at_ = 0;
    end_ = static_cast<std::size_t>(got);
    n_read_ += end_;
  }
  const std::size_t taken = std::min(n, end_ - at_);
  std::copy_n(buffer_ + at_, taken, to);
  at_ += taken;
  return static_cast<std::ptrdiff_t>(taken);
}

bool Connection::send_now(std::string_view& bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0)
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    else if (sent == 0 || errno != EINTR)
      return sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  }
  return true;
}

bool Connection::write_waiting(std::string_view bytes) {
  while (send_now(bytes)) {
    if (bytes.empty()) return true;
    const double began_ms = clock_.steady_ms();
    const double left_ms = std::min(limits_.write_ms, limits_.request_ms - waited_ms_);
    const bool goes_on = wait(POLLOUT, began_ms + left_ms);
    waited_ms_ += clock_.steady_ms() - began_ms;
    if (!goes_on) break;
  }
  gone_.request_stop();
  return false;
}

bool Connection::send_kept() {
  std::string_view rest = std::string_view(kept_).substr(kept_at_);
  const std::size_t n_before = rest.size();
  bool is_there = send_now(rest);
  const double now_ms = clock_.steady_ms();
  if (rest.empty() || rest.size() < n_before) taken_ms_ = now_ms;
  kept_at_ = kept_.size() - rest.size();
  if (rest.empty()) kept_.clear(), kept_at_ = 0;
  is_there = is_there && now_ms - taken_ms_ <= limits_.write_ms &&
             rest.size() <= limits_.stream_bytes && !gone_.stop_requested();
  if (!is_there) gone_.request_stop();
  return is_there;
}

bool Connection::write(std::string_view bytes) {
  if (!streams_) return write_waiting(bytes);
  const std::lock_guard hold(mutex_);
  if (kept_at_ > kept_.size() / 2) kept_.erase(0, std::exchange(kept_at_, 0));
  kept_ += bytes;
  return send_kept();
}

void Connection::begin_stream() {
  const std::lock_guard hold(mutex_);
  streams_ = true;
  taken_ms_ = clock_.steady_ms();
}

bool Connection::end_stream() {
  {
    const std::lock_guard hold(mutex_);
    streams_ = false;
  }
  return write_waiting(std::string_view(kept_).substr(kept_at_));
}

void Connection::flush() {
  const std::lock_guard hold(mutex_);
  if (streams_) send_kept();
}

void Connection::close_gently() {
  shutdown(socket_, SHUT_WR);
  const double until_ms = clock_.steady_ms() + kDrainMs;
  for (std::size_t drained = 0; drained < kDrainBytes && wait(POLLIN, until_ms);) {
    const ssize_t got = recv(socket_, buffer_, sizeof buffer_, 0);
    if (got <= 0) return;
    drained += static_cast<std::size_t>(got);
  }
}

bool Connection::left() const {
  pollfd one{.fd = socket_, .events = POLLRDHUP, .revents = 0};
  return poll(&one, 1, 0) > 0 && (one.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

}  // namespace satchel::serve
