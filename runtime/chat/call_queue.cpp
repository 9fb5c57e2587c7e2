#include "runtime/chat/call_queue.h"

#include "kernels/base/assert.h"
#include "runtime/chat/chat_errors.h"

namespace satchel::runtime {
namespace {

constexpr bool kAlways = true;

}  // namespace

CallQueue::Waiter* CallQueue::next() {
  bool is_kept_out = false;  // by a call that needs all chats
  for (Waiter& waiter : waiters_) {
    if (waiter.may_go_on != nullptr) {
      if (*waiter.may_go_on && !(has_reader_ && waiter.waits_for_reader)) return &waiter;
      continue;
    }
    if (is_kept_out || (has_reader_ && !waiter.scope.no_cache)) continue;
    const bool must_wait =
        waiter.scope.all ? !answering_.empty() : answering_.contains(waiter.scope.chat);
    if (!must_wait) return &waiter;
    is_kept_out = waiter.scope.all;
  }
  return nullptr;
}

void CallQueue::wake_next() {
  if (!is_free()) return;
  if (Waiter* const waiter = next())
    waiter->wakes.notify_one();
  else
    idle_wakes_.notify_one();
}

void CallQueue::remove(const Waiter& waiter) {
  waiters_.remove_if([&](const Waiter& one) { return &one == &waiter; });
}

Result<CallQueue::Permit> CallQueue::wait(const std::stop_token& stop, const CallScope& scope) {
  std::unique_lock lock(mutex_);
  if (holder_ == std::this_thread::get_id()) return nested_call();
  Waiter& here = waiters_.emplace_back();
  here.scope = scope;
  ++n_calls_waiting_;
  idle_.request_stop();
  if (scope.hurries) {
    ++n_hurrying_;
    reading_.request_stop();
  }
  const bool is_next =
      here.wakes.wait(lock, stop, [this, &here] { return is_free() && next() == &here; });
  remove(here);
  --n_calls_waiting_;
  if (scope.hurries) --n_hurrying_;
  if (is_next) {
    holder_ = std::this_thread::get_id();
    return Permit(*this);
  }
  wake_next();  // whoever came behind
  return call_stopped();
}

Result<CallQueue::Permit> CallQueue::wait_idle(const std::stop_token& stop,
                                               const std::stop_source& makes_way) {
  std::unique_lock lock(mutex_);
  if (holder_ == std::this_thread::get_id()) return nested_call();
  ++n_idle_waiting_;
  const bool is_next = idle_wakes_.wait(lock, stop, [this] {
    return is_free() && n_calls_waiting_ == 0 && answering_.empty() && !has_reader_;
  });
  --n_idle_waiting_;
  if (!is_next) return call_stopped();
  holder_ = std::this_thread::get_id();
  idle_ = makes_way;
  return Permit(*this);
}

void CallQueue::reads(const std::stop_source& makes_way) {
  const std::lock_guard lock(mutex_);
  reading_ = makes_way;
  if (n_hurrying_ > 0) reading_.request_stop();
}

void CallQueue::hurry() {
  const std::lock_guard lock(mutex_);
  reading_.request_stop();
}

void CallQueue::begin_answer(ChatHandle chat) {
  const std::lock_guard lock(mutex_);
  answering_.insert(chat);
}

void CallQueue::end_answer(ChatHandle chat) {
  const std::lock_guard lock(mutex_);
  answering_.erase(chat);
}

bool CallQueue::answers(ChatHandle chat) const {
  const std::lock_guard lock(mutex_);
  return answering_.contains(chat);
}

void CallQueue::pause_here(std::unique_lock<std::mutex>& lock, Place& place,
                           const bool& may_go_on) noexcept {
  const auto here = place.waiter_.begin();
  here->may_go_on = &may_go_on;
  waiters_.splice(waiters_.end(), place.waiter_);
  holder_ = {};
  wake_next();
  here->wakes.wait(lock, [this, here] { return is_free() && next() == &*here; });
  place.waiter_.splice(place.waiter_.begin(), waiters_, here);
  holder_ = std::this_thread::get_id();
}

void CallQueue::pause(Place& place, const bool& may_go_on) noexcept {
  std::unique_lock lock(mutex_);
  pause_here(lock, place, may_go_on);
}

void CallQueue::pause_reader(Place& place) noexcept {
  std::unique_lock lock(mutex_);
  SATCHEL_ASSERT(!has_reader_);
  has_reader_ = true;
  pause_here(lock, place, kAlways);
  has_reader_ = false;
}

void CallQueue::wait_for_reader(Place& place) noexcept {
  std::unique_lock lock(mutex_);
  if (!has_reader_) return;
  place.waiter_.front().waits_for_reader = true;
  pause_here(lock, place, kAlways);
  place.waiter_.front().waits_for_reader = false;
}

bool CallQueue::has_reader() const {
  const std::lock_guard lock(mutex_);
  return has_reader_;
}

bool CallQueue::is_wanted() {
  const std::lock_guard lock(mutex_);
  return next() != nullptr;
}

std::size_t CallQueue::n_waiting() const {
  const std::lock_guard lock(mutex_);
  return n_calls_waiting_ + n_idle_waiting_;
}

void CallQueue::leave() {
  const std::lock_guard lock(mutex_);
  holder_ = {};
  if (!has_reader_) idle_ = reading_ = std::stop_source(std::nostopstate);
  wake_next();
}

}  // namespace satchel::runtime
