// CallQueue: lets the calls of several threads into the engine one at a time.
//   order    first come, first served. Idle work comes last: it waits until no call waits, and is
//            asked to stop as soon as a call comes
//   cancel   a call that is stopped while it waits leaves the queue; one that need not wait is
//            let in even when it is already stopped, and ends by itself
//   errors   cancelled, STOPPED; invalid, NESTED_CALL: the thread has the permit already, and
//            would wait for itself
//   threads  any
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <stop_token>
#include <thread>
#include <utility>

#include "kernels/base/result.h"

namespace satchel::runtime {

class CallQueue {
 public:
  // The right to use the engine, until it is destroyed.
  class Permit {
   public:
    explicit Permit(CallQueue& queue) : queue_(&queue) {}
    Permit(Permit&& other) noexcept : queue_(std::exchange(other.queue_, nullptr)) {}
    Permit& operator=(Permit&&) = delete;
    ~Permit() {
      if (queue_ != nullptr) queue_->leave();
    }

   private:
    CallQueue* queue_;
  };

  // hurries: reading makes way for it.
  Result<Permit> wait(const std::stop_token& stop, bool hurries = false);
  // `makes_way` is asked to stop when a call comes. The caller stops it itself where it wants to.
  Result<Permit> wait_idle(const std::stop_token& stop, const std::stop_source& makes_way);

  // The call that has the permit reads from now on, and may do so later: `makes_way` is asked to
  // stop when a call hurries.
  void reads(const std::stop_source& makes_way);

  // Whoever reads now is asked to stop: a call that hurries comes, from the same thread.
  void hurry();

  std::size_t n_waiting() const;  // calls and idle work that have no permit yet

 private:
  bool is_free() const { return holder_ == std::thread::id(); }
  void leave();

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::uint64_t> calls_;  // tickets of those that wait, in the order they came
  std::uint64_t last_ticket_ = 0;
  std::size_t n_idle_waiting_ = 0, n_hurrying_ = 0;
  std::thread::id holder_;                   // who has the permit; none: it is free
  std::stop_source idle_{std::nostopstate};  // of the idle work that has the permit
  std::stop_source reading_{std::nostopstate};
};

}  // namespace satchel::runtime
