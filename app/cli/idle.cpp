#include "app/cli/idle.h"

#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <thread>

namespace satchel::app {

Result<runtime::IdleReport> pack_until_input(Conversation& conversation) {
  if (!conversation.service().has_idle_work(conversation.chat())) return runtime::IdleReport{};
  constexpr int kPollMs = 50;
  const runtime::ChatCall call = conversation.call();
  std::stop_source stop;
  const std::stop_callback interrupted(call.stop, [&stop] { stop.request_stop(); });
  const auto sink = [&call](runtime::ChatHandle chat, const runtime::ChatEvent& event) {
    if (std::holds_alternative<runtime::Failed>(event)) call.sink(chat, event);
  };
  std::atomic<bool> done = false;
  std::thread watch([&] {
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    while (!done)
      if (poll(&input, 1, kPollMs) != 0) {  // a key, the end of input, or a signal
        stop.request_stop();
        return;
      }
  });
  Result<runtime::IdleReport> report =
      conversation.service().idle(conversation.chat(), {stop.get_token(), sink});
  done = true;
  watch.join();
  return report;
}

}  // namespace satchel::app
