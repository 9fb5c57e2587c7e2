#include "runtime/session/self_drafts.h"

#include <algorithm>

#include "kernels/contract/lane_view.h"

namespace satchel::runtime {

bool SelfDrafts::is_long_enough(const kvcache::Cache& cache) const {
  if (cache.is_far()) return false;  // the pages of a draft would have to be fetched
  return cache.n_seen() >= 2 * n_pages_ * kernels::kPageTokens;
}

void SelfDrafts::draft(const DraftRequest& request, std::vector<std::int32_t>& ids) {
  if (chosen_at_ == 0 || !request.cache.has_draft_pages() || request.n_most == 0) return;
  const std::size_t n =
      always_ > 0 ? std::min(always_, request.n_most) : pace_.n_to_try(0, request.n_most);
  tries_ = n > 0;
  Sampler sampler = request.sampler;
  const std::size_t n_recent = std::min(request.text.size(), sampler.n_recent());
  recent_.assign(request.text.end() - static_cast<std::ptrdiff_t>(n_recent), request.text.end());
  for (std::size_t i = 0; i < n; ++i) {
    if (!request.model.draft(request.cache, ids.back(), request.logits).ok()) return;
    ids.push_back(sampler.choose(request.logits, recent_));
    recent_.push_back(ids.back());
  }
}

bool SelfDrafts::begin_step(kvcache::Cache& cache) {
  if (!is_long_enough(cache)) return false;
  if (chosen_at_ != 0 && (!tries_ || cache.n_tokens() < chosen_at_ + kChoiceTokens)) return false;
  cache.want_draft_pages(n_pages_);
  chosen_at_ = cache.n_tokens();
  return true;
}

}  // namespace satchel::runtime
