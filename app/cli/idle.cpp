#include "app/cli/idle.h"

#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace satchel::app {

Result<runtime::IdleReport> pack_until_input(runtime::Session& session) {
  if (!session.has_idle_work()) return runtime::IdleReport{};
  constexpr int kPollMs = 50;
  std::stop_source stop;
  std::atomic<bool> done = false;
  std::thread watch([&] {
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    while (!done)
      if (poll(&input, 1, kPollMs) != 0) {  // a key, the end of input, or a signal
        stop.request_stop();
        return;
      }
  });
  Result<runtime::IdleReport> report = session.idle(stop.get_token(), {});
  done = true;
  watch.join();
  return report;
}

}  // namespace satchel::app
