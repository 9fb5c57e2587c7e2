// DecodeGroup: chats that answer at once, each on a thread of its own, decode together, so that a
// step reads the weights once. Each gets the answer, or the error, that it gets alone, as long as
// the shared memory suffices.
//   step     whoever brings the last token of the members does it for all; the others pause
//   needs    turns of one engine; who uses a Member or a Reader has the permit of the queue
//   reading  while a text is read its chat has no token to bring, and now and then lets the others
//            take steps. Only decoding goes on then: what else an answer does, at its end most of
//            all, waits until the text is read. A step that needs memory which the text may yet
//            need waits as well, so that the text becomes what it would have become without them
//   errors   where the step fails, each chat that it left unchanged decodes its token alone, so
//            that only those fail that would have failed alone; this also reclaims memory.
//            A chat whose cache lost tokens on the way gets the step's error: it caused that
//   differs  arXiv:2412.03594 (BatchLLM) reorders requests by their common prefix; here they decode
//            as they come, and share what their caches share
#pragma once

#include <exception>
#include <thread>
#include <vector>

#include "runtime/chat/call_queue.h"
#include "runtime/model/model.h"
#include "runtime/session/turn.h"

namespace satchel::runtime {

class DecodeGroup {
 public:
  explicit DecodeGroup(CallQueue& queue) : queue_(queue) {}

  // A chat that answers. Without a token of it there is no step: it must bring one or go.
  class Member {
   public:
    Member(DecodeGroup& group, ChatHandle chat);
    Member(Member&&) = delete;
    ~Member();

    // Throws what its own token threw.
    Result<void> decode(Turn& turn, TokenId token);
    // In the middle of a text that is read: answers take steps, and calls that touch no cache run.
    void make_way();

   private:
    void wait_for_reader();

    DecodeGroup& group_;
    const ChatHandle chat_;
    CallQueue::Place place_;
  };

  // A call that reads and does not answer.
  class Reader {
   public:
    explicit Reader(DecodeGroup& group) : group_(group) {}
    Reader(Reader&&) = delete;
    ~Reader() { group_.step_if_due(); }
    void make_way() { group_.make_way(place_); }  // as Member's

   private:
    DecodeGroup& group_;
    CallQueue::Place place_;
  };

 private:
  struct Next {
    Turn* turn = nullptr;
    TokenId token = 0;
    std::size_t n_before = 0;     // tokens in its cache
    std::thread::id thread = {};  // of its call
    Result<void> decoded = {};
    std::exception_ptr thrown = nullptr;
    bool is_decoded = false;
  };

  void make_way(CallQueue::Place& place);
  // If all members have brought their token, and the memory is there.
  void step_if_due() noexcept;
  bool is_due() const;
  // Whatever is thrown in it, each gets its result.
  void step() noexcept;
  Result<void> decode_all();

  CallQueue& queue_;
  std::size_t n_members_ = 0;
  std::vector<Next*> next_;  // tokens that wait for the step
  std::vector<DecodeItem> items_;
};

}  // namespace satchel::runtime
