// How a call of ChatService runs: it waits for the permit, works, and tells its error. Private.
#pragma once

#include "runtime/chat/chat_errors.h"
#include "runtime/chat/chat_service.h"

namespace satchel::runtime {

template <class T, class Work>
Result<T> ChatService::guarded(Running& running, const Work& work) {
  Result<T> done = caught<T>([&] { return work(running); });
  if (!done.ok()) tell_error(running, running.task, done.error());
  return done;
}

template <class T, class Work>
Result<T> ChatService::run(ChatTask task, ChatHandle chat, const ChatCall& call, const Work& work) {
  return run<T>(task, chat, scope_of(task, chat), call, work);
}

template <class T, class Work>
Result<T> ChatService::run(ChatTask task, ChatHandle chat, const CallScope& scope,
                           const ChatCall& call, const Work& work) {
  Running running{task, chat, call};
  const Result<CallQueue::Permit> permit = wait_permit(call.stop, scope);
  if (!permit.ok()) {  // told without a look at the engine, which another call has
    if (permit.error().code != "NESTED_CALL") running.tell(Failed{task, permit.error()});
    return permit.error();
  }
  return guarded<T>(running, work);
}

}  // namespace satchel::runtime
