#include "runtime/chat/decode_group.h"

#include <utility>

#include "runtime/model/scratch.h"

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
  group_.step_if_due();
}

Result<void> DecodeGroup::Member::decode(Turn& turn, TokenId token) {
  turn.ask_before_changes([this] { wait_for_reader(); });
  Next next{.turn = &turn,
            .token = token,
            .n_before = turn.cache().n_tokens(),
            .thread = std::this_thread::get_id()};
  group_.next_.push_back(&next);
  group_.step_if_due();
  // Alone it never has to pause; so that others come in:
  if (!next.is_decoded || (group_.n_members_ == 1 && group_.queue_.is_wanted()))
    group_.queue_.pause(place_, next.is_decoded);
  if (next.thrown) std::rethrow_exception(next.thrown);
  return std::move(next.decoded);
}

void DecodeGroup::Member::make_way() {
  --group_.n_members_;
  group_.make_way(place_);
  ++group_.n_members_;
}

// It brings no token meanwhile.
void DecodeGroup::Member::wait_for_reader() {
  if (!group_.queue_.has_reader()) return;
  --group_.n_members_;
  group_.step_if_due();
  group_.queue_.wait_for_reader(place_);
  ++group_.n_members_;
}

void DecodeGroup::make_way(CallQueue::Place& place) {
  step_if_due();
  queue_.pause_reader(place);
}

void DecodeGroup::step_if_due() noexcept {
  if (is_due()) step();
}

bool DecodeGroup::is_due() const {
  if (next_.empty() || next_.size() < n_members_) return false;
  Model& model = next_.front()->turn->model();
  const std::size_t needed = model.needed_bytes();
  if (needed == 0) return true;
  // What a step borrows is back before the text goes on; what it takes stays taken.
  std::size_t taken = 0;
  for (const Next* next : next_) taken += next->turn->cache().step_needs();
  const std::size_t free = next_.front()->turn->cache().arena().free_bytes();
  const std::size_t lent = PassScratch::bytes(model.config(), decoding_size(next_.size()));
  if (taken == 0) return lent <= free;
  return needed <= free && taken + lent <= free - needed;
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
        next->decoded = next->turn->decode(next->token, next->thread == std::this_thread::get_id());
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
