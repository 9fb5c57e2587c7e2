// CallQueue: lets the calls of several threads into the engine one at a time.
//   order    first come, first served. Idle work comes last: it waits until no call waits and no
//            chat answers, and is asked to stop as soon as a call comes
//   answers  a call that answers a chat pauses between two tokens. Others come in then: those of
//            other chats, and answers whose next token is there. Who needs all chats waits until
//            none answers; calls that come after it wait as well, so that it gets its turn
//   reading  a call that reads a text may pause in the middle of it. Then only those come in that
//            touch no cache, and answers whose next token is there
//   cancel   a call that is stopped while it waits leaves the queue; one that need not wait is
//            let in even when it is already stopped, and ends by itself
//   errors   cancelled, STOPPED; invalid, NESTED_CALL: the thread has the permit already, and
//            would wait for itself
//   threads  any
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <set>
#include <stop_token>
#include <thread>
#include <utility>

#include "kernels/base/result.h"
#include "runtime/chat/chat_events.h"

namespace satchel::runtime {

// What a call needs for itself.
struct CallScope {
  ChatHandle chat = {};   // none: no chat
  bool all = false;       // nobody may answer
  bool hurries = false;   // reading makes way for it
  bool no_cache = false;  // it touches none: comes in while another one pauses to read
};

class CallQueue {
  struct Waiter {
    CallScope scope = {};
    const bool* may_go_on = nullptr;  // of a call that paused
    bool waits_for_reader = false;
    std::condition_variable_any wakes = {};
  };

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

  // Where a call pauses, made once, so that a pause needs no memory.
  class Place {
   private:
    friend class CallQueue;
    std::list<Waiter> waiter_{1};
  };

  Result<Permit> wait(const std::stop_token& stop, const CallScope& scope = {});
  // `makes_way` is asked to stop when a call comes. The caller stops it itself where it wants to.
  Result<Permit> wait_idle(const std::stop_token& stop, const std::stop_source& makes_way);

  // The call that has the permit reads from now on, and may do so later: `makes_way` is asked to
  // stop when a call hurries.
  void reads(const std::stop_source& makes_way);

  // Whoever reads now is asked to stop: a call that hurries comes, from the same thread.
  void hurry();

  // --- for the call that has the permit
  void begin_answer(ChatHandle chat);
  void end_answer(ChatHandle chat);
  bool answers(ChatHandle chat) const;
  // Others may come in until `may_go_on` is set, by one of them; then it has the permit again.
  void pause(Place& place, const bool& may_go_on) noexcept;
  // The same in the middle of a text, and until the one that paused there has read it.
  void pause_reader(Place& place) noexcept;
  void wait_for_reader(Place& place) noexcept;
  bool has_reader() const;  // that paused in the middle of a text
  // Whether somebody would come in if it paused.
  bool is_wanted();

  std::size_t n_waiting() const;  // calls and idle work that have no permit yet

 private:
  bool is_free() const { return holder_ == std::thread::id(); }
  void pause_here(std::unique_lock<std::mutex>& lock, Place& place, const bool& may_go_on) noexcept;
  // Who comes in when the permit is free; nullptr: nobody.
  Waiter* next();
  void wake_next();
  void remove(const Waiter& waiter);
  void leave();

  mutable std::mutex mutex_;
  std::condition_variable_any idle_wakes_;
  std::list<Waiter> waiters_;  // in the order they came
  std::set<ChatHandle> answering_;
  std::size_t n_calls_waiting_ = 0, n_idle_waiting_ = 0, n_hurrying_ = 0;
  bool has_reader_ = false;
  std::thread::id holder_;                   // who has the permit; none: it is free
  std::stop_source idle_{std::nostopstate};  // of the idle work that has the permit
  std::stop_source reading_{std::nostopstate};
};

}  // namespace satchel::runtime
