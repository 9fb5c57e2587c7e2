#include "runtime/chat/decode_group.h"

#include <utility>

namespace satchel::runtime {

DecodeGroup::Member::Member(DecodeGroup& group, ChatHandle chat) : group_(group), chat_(chat) {
  group_.next_.reserve(group_.n_members_ + 1);
  group_.items_.reserve(group_.n_members_ + 1);
  group_.queue_.begin_answer(chat_);
  ++group_.n_members_;
}

DecodeGroup::Member::~Member() {
  group_.queue_.end_answer(chat_);
  --group_.n_members_;
  if (group_.n_members_ > 0 && group_.next_.size() == group_.n_members_) group_.step();
}

Result<void> DecodeGroup::Member::decode(Turn& turn, TokenId token) {
  Next next{.turn = &turn, .token = token, .n_before = turn.cache().n_tokens()};
  group_.next_.push_back(&next);
  if (group_.next_.size() < group_.n_members_) {
    group_.queue_.pause(place_, next.is_decoded);
  } else {
    group_.step();
    // Alone it never pauses; so that others come in:
    if (group_.n_members_ == 1 && group_.queue_.is_wanted())
      group_.queue_.pause(place_, next.is_decoded);
  }
  if (next.thrown) std::rethrow_exception(next.thrown);
  return std::move(next.decoded);
}

void DecodeGroup::step() noexcept {
  Result<void> together;
  std::exception_ptr thrown;
  try {
    together = decode_all();
  } catch (...) {
    thrown = std::current_exception();
  }
  for (Next* const next : next_) {
    const std::size_t n = next->turn->cache().n_tokens();
    try {
      if (n == next->n_before) {
        next->decoded = next->turn->decode(next->token);
      } else if (n < next->n_before) {
        next->thrown = thrown;
        next->decoded = together;
      }
    } catch (...) {
      next->thrown = std::current_exception();
    }
    next->is_decoded = true;
  }
  next_.clear();
}

Result<void> DecodeGroup::decode_all() {
  if (next_.size() == 1) return {};  // it decodes alone
  items_.clear();
  for (const Next* next : next_)
    items_.push_back(
        {.cache = &next->turn->cache(), .id = next->token, .logits = next->turn->logits()});
  return next_.front()->turn->model().decode(items_);
}

}  // namespace satchel::runtime
