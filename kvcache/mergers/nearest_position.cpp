// Averages a dropped token into the retained token nearest to it in the text.
//   formula of m dropped tokens i whose nearest kept one is c, ties to the lower:
//           k_c' = (k_c + Σ k_i) / (1 + m), v alike
//   cost    a lane's K and V in fp32, once
//   source  arXiv:2407.18121 (Elastic Cache)
//   differs any kept token may carry, where the authors' code leaves the protected ends out, and
//           places are places, where it counts those of dropped tokens from behind the first ones
#include <algorithm>
#include <vector>

#include "kvcache/stages/merge_rows.h"

namespace satchel::kvcache {
namespace {

//   kept  rising, not empty
std::size_t nearest(std::span<const std::size_t> kept, std::size_t t) {
  const auto above = std::lower_bound(kept.begin(), kept.end(), t);
  if (above == kept.begin()) return *above;
  const std::size_t below = *(above - 1);
  return above == kept.end() || t - below <= *above - t ? below : *above;
}

class NearestPositionMerger final : public Merger {
 public:
  Result<void> merge(kernels::Backend& backend, const MergeLane& lane) const override {
    const std::vector<std::size_t> kept = kept_tokens(lane);
    if (kept.empty()) return {};
    std::vector<MergedInto> merged;
    for (std::size_t t = 0; t < lane.n_tokens; ++t)
      if (is_dropped(lane, t))
        merged.push_back({.source = t, .carrier = nearest(kept, t), .weight = 1});
    if (merged.empty()) return {};
    SATCHEL_TRY_ASSIGN(LaneRows keys, download_rows(backend, lane.k, lane));
    return merge_into(backend, lane, merged, std::vector<float>(lane.n_tokens, 1), keys);
  }
};
}  // namespace

extern const StageMaker mergers_nearest_position =
    stage_of<NearestPositionMerger>("arXiv:2407.18121");
}  // namespace satchel::kvcache
