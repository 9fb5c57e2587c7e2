#include "runtime/chat/decode_group.h"

#include "runtime/chat/chat_errors.h"

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
    group_.queue_.pause(next.is_decoded);
    return next.decoded;
  }
  group_.step();
  // Alone it never pauses; so that others come in:
  if (group_.n_members_ == 1 && group_.queue_.is_wanted()) group_.queue_.pause(next.is_decoded);
  return next.decoded;
}

void DecodeGroup::step() {
  const Result<void> together = caught<void>([this] { return decode_all(); });
  for (Next* const next : next_) {
    const std::size_t n = next->turn->cache().n_tokens();
    if (n > next->n_before)
      next->decoded = Result<void>();
    else if (n < next->n_before)
      next->decoded = together;
    else
      next->decoded = caught<void>([&] { return next->turn->decode(next->token); });
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
