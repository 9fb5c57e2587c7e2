#include "runtime/chat/call_queue.h"

#include "runtime/chat/chat_errors.h"

namespace satchel::runtime {

Result<CallQueue::Permit> CallQueue::wait(const std::stop_token& stop, bool hurries) {
  std::unique_lock lock(mutex_);
  if (holder_ == std::this_thread::get_id()) return nested_call();
  const std::uint64_t ticket = ++last_ticket_;
  calls_.push_back(ticket);
  idle_.request_stop();
  if (hurries) {
    ++n_hurrying_;
    reading_.request_stop();
  }
  const bool is_next =
      changed_.wait(lock, stop, [this, ticket] { return is_free() && calls_.front() == ticket; });
  std::erase(calls_, ticket);
  if (hurries) --n_hurrying_;
  if (is_next) {
    holder_ = std::this_thread::get_id();
    return Permit(*this);
  }
  lock.unlock();
  changed_.notify_all();  // whoever came behind may be next now
  return call_stopped();
}

Result<CallQueue::Permit> CallQueue::wait_idle(const std::stop_token& stop,
                                               const std::stop_source& makes_way) {
  std::unique_lock lock(mutex_);
  if (holder_ == std::this_thread::get_id()) return nested_call();
  ++n_idle_waiting_;
  const bool is_next = changed_.wait(lock, stop, [this] { return is_free() && calls_.empty(); });
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

std::size_t CallQueue::n_waiting() const {
  const std::lock_guard lock(mutex_);
  return calls_.size() + n_idle_waiting_;
}

void CallQueue::leave() {
  {
    const std::lock_guard lock(mutex_);
    holder_ = {};
    idle_ = reading_ = std::stop_source(std::nostopstate);
  }
  changed_.notify_all();
}

}  // namespace satchel::runtime
