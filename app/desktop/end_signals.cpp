#include "app/desktop/end_signals.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <QCoreApplication>
#include <QSocketNotifier>
#include <atomic>

namespace satchel::app {
namespace {

// A handler may do next to nothing: it wakes the event loop.
std::atomic<int> wake_fd{-1};
static_assert(std::atomic<int>::is_always_lock_free);

void on_signal(int) {
  const char byte = 0;
  [[maybe_unused]] const ssize_t written = write(wake_fd.load(), &byte, 1);
}

}  // namespace

void end_on_signals(QCoreApplication& application) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return;
  wake_fd = ends[1];
  auto* asked = new QSocketNotifier(ends[0], QSocketNotifier::Read, &application);
  QObject::connect(asked, &QSocketNotifier::activated, &application,
                   [] { QCoreApplication::quit(); });
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  for (const int number : {SIGTERM, SIGHUP, SIGINT}) sigaction(number, &action, nullptr);
}

}  // namespace satchel::app
