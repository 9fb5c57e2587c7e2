#include "app/cli/interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <thread>

namespace satchel::app {
namespace {

// A handler may only touch lock-free atomics, and std::stop_source is none: so it writes to a pipe
// and a thread asks.
std::atomic<int> wake_fd{-1};
std::atomic<int> n_interrupts{0};
std::atomic<bool> end_wanted{false};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

struct Current {
  std::mutex lock;
  std::stop_source source;
};
Current& current() {
  static Current instance;
  return instance;
}

void on_signal(int signal) {
  if (signal != SIGINT || n_interrupts.fetch_add(1) >= 1) end_wanted = true;
  const char byte = 0;
  [[maybe_unused]] const ssize_t written = write(wake_fd.load(), &byte, 1);
}

}  // namespace

void catch_interrupts() {
  int ends[2];
  if (pipe(ends) != 0) return;
  wake_fd = ends[1];
  std::thread([reading = ends[0]] {
    for (char byte; read(reading, &byte, 1) == 1;) {
      Current& now = current();
      const std::lock_guard hold(now.lock);
      // An interrupt that was taken meanwhile is not for the work that began after it.
      if (n_interrupts > 0 || end_wanted) now.source.request_stop();
    }
  }).detach();
  struct sigaction action = {};
  action.sa_handler = on_signal;  // no SA_RESTART: a read from the terminal comes back
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGHUP, &action, nullptr);
}

std::stop_token begin_interruptible() {
  Current& now = current();
  const std::lock_guard hold(now.lock);
  now.source = std::stop_source();
  if (n_interrupts > 0 || end_wanted) now.source.request_stop();  // came between two pieces of work
  return now.source.get_token();
}

bool take_interrupt() {
  return n_interrupts.exchange(0) > 0;
}
bool end_asked() {
  return end_wanted;
}

}  // namespace satchel::app
