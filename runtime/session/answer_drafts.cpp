#include "runtime/session/answer_drafts.h"

namespace satchel::runtime {

std::span<const std::int32_t> AnswerDrafts::next(const DraftRequest& request) {
  source_ = Source::none;
  self_ms_ = 0;
  ids_.assign(1, request.text.back());
  if (sources_.lookup) {
    const std::span<const std::int32_t> found = lookup_.after(request.text, request.n_most);
    ids_.insert(ids_.end(), found.begin(), found.end());
    if (ids_.size() > 1) source_ = Source::lookup;
  }
  if (sources_.self_pages > 0 && source_ == Source::none) {
    const double began_ms = clock_.steady_ms();
    self_.draft(request, ids_);
    self_ms_ = clock_.steady_ms() - began_ms;
    if (ids_.size() > 1) source_ = Source::self;
  }
  chooses_ = sources_.self_pages > 0 && request.n_most > 0 && self_.begin_step(request.cache);
  return ids_;
}

void AnswerDrafts::took(double ms, std::size_t n_accepted) {
  const DraftCounts step{.n_drafted = ids_.size() - 1, .n_accepted = n_accepted};
  if (source_ == Source::none && chooses_) return;  // no plain step's time
  if (source_ != Source::self) lookup_.took(ms, step);
  if (source_ != Source::lookup) self_.took(ms + self_ms_, step);
}

DraftCounts AnswerDrafts::counts() const {
  const DraftCounts &lookup = lookup_.counts(), &self = self_.counts();
  return {.n_drafted = lookup.n_drafted + self.n_drafted,
          .n_accepted = lookup.n_accepted + self.n_accepted};
}

}  // namespace satchel::runtime
