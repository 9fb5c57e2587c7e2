// What is changed in a chat that has messages: read ahead, cut, pinned, forgotten, branched.
#include <utility>

#include "runtime/chat/service_call.h"

namespace satchel::runtime {

template <class T, class Work>
Result<T> ChatService::edit(ChatHandle handle, const ChatCall& call, const Work& work) {
  return run<T>(ChatTask::edit, handle, call, [&](Running& running) -> Result<T> {
    SATCHEL_TRY_ASSIGN(OpenChat* const chat, find_resumed(running));
    if (chat->session() == nullptr) return no_messages();
    Result<T> done = work(*chat, running);
    tell_cache(*chat, running);
    if (done.ok()) save_now(*chat, running);
    return done;
  });
}

Result<ReadReport> ChatService::read(ChatHandle handle, const ChatCall& call) {
  return edit<ReadReport>(handle, call, [&](OpenChat& chat, Running& running) {
    DecodeGroup::Reader reader(answers_);
    Result<ReadReport> report =
        chat.session()->read(call.stop, progress_of(running, [&reader] { reader.make_way(); }));
    if (report.ok()) running.tell(*report);
    return report;
  });
}

Result<void> ChatService::truncate(ChatHandle handle, MessageId last, const ChatCall& call) {
  return edit<void>(handle, call, [&](OpenChat& chat, Running&) {
    chat.unanswered = {};
    return chat.session()->truncate(last);
  });
}

Result<void> ChatService::pin(ChatHandle handle, MessageId message, const ChatCall& call) {
  return edit<void>(handle, call,
                    [&](OpenChat& chat, Running&) { return chat.session()->pin(message); });
}

Result<void> ChatService::forget(ChatHandle handle, MessageId message, const ChatCall& call) {
  return edit<void>(handle, call,
                    [&](OpenChat& chat, Running&) { return chat.session()->forget(message); });
}

Result<void> ChatService::look(const std::function<Result<void>()>& look, const ChatCall& call) {
  return run<void>(ChatTask::edit, {}, call, [&](Running&) { return look(); });
}

Result<void> ChatService::look_aside(const std::function<Result<void>()>& look,
                                     const ChatCall& call) {
  return run<void>(ChatTask::edit, {}, {.no_cache = true}, call, [&](Running&) { return look(); });
}

Result<ChatHandle> ChatService::branch(ChatHandle handle, const ChatCall& call) {
  return edit<ChatHandle>(handle, call,
                          [&](OpenChat& chat, Running& running) -> Result<ChatHandle> {
                            SATCHEL_TRY_ASSIGN(const OpenChat::Host at, host());
                            SATCHEL_TRY_ASSIGN(OpenChat branch, chat.branch(at, clock_.wall_ms()));
                            save_now(branch, running);
                            return add(std::move(branch), {});
                          });
}

}  // namespace satchel::runtime
