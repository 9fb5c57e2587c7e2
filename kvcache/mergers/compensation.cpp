// Replaces all dropped tokens of a lane by one token with their mean key and value. Attention
// weights it like that many tokens: the logarithm of their number is added to its logit.
//   formula of N dropped tokens i and the carrier c, the oldest that is kept and not protected:
//           k_c' = (k_c + Σ k_i) / (N + 1), v alike, c stands for N + 1 tokens; without such a c
//           nothing is left
//   cost    a lane's K and V in fp32, once
//   source  arXiv:2407.15891 (RazorAttention), the compensation token
//   differs the paper's is one more entry, of the dropped alone; here a kept token is given for it,
//           and is part of the mean
#include <algorithm>
#include <vector>

#include "kvcache/stages/merge_rows.h"

namespace satchel::kvcache {
namespace {

class CompensationMerger final : public Merger {
 public:
  bool needs_counts() const override { return true; }

  Result<void> merge(kernels::Backend& backend, const MergeLane& lane) const override {
    const auto may_carry = [&lane](std::size_t t) { return lane.scores[t] != kNeverEvict; };
    const std::vector<std::size_t> kept = kept_tokens(lane);
    const auto carrier = std::find_if(kept.begin(), kept.end(), may_carry);
    if (carrier == kept.end()) return {};
    std::vector<MergedInto> merged;
    for (std::size_t t = 0; t < lane.n_tokens; ++t)
      if (is_dropped(lane, t)) merged.push_back({.source = t, .carrier = *carrier, .weight = 1});
    if (merged.empty()) return {};
    SATCHEL_TRY_ASSIGN(LaneRows keys, download_rows(backend, lane.k, lane));
    return merge_into(backend, lane, merged, std::vector<float>(lane.n_tokens, 1), keys);
  }
};
}  // namespace

extern const StageMaker mergers_compensation = stage_of<CompensationMerger>("arXiv:2407.15891");
}  // namespace satchel::kvcache
