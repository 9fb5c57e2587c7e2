// The lanes of a layer compete for the layer's budget, with a minimum for each.
//   formula a lane's budget: what it protects, and of the rest (1 - alpha) · its share among the
//           layer's best tokens + alpha · an equal share
//   params  alpha   the safeguard (0.2)
//   source  arXiv:2407.11550 (Ada-KV) algorithm 1
//   differs rounded by largest remainder, so that the layer's total is met, where the authors' code
//           rounds lane by lane
#include <algorithm>
#include <vector>

#include "kvcache/stages/ranking.h"
#include "kvcache/stages/share.h"
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {
class AcrossHeadsAllocator final : public Allocator {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(alpha_, params.number("alpha", {.fallback = 0.2, .min = 0, .max = 1}));
    return {};
  }

  void lanes(const TokenSpan&, std::span<const LaneScores> lanes, std::size_t total,
             std::span<std::size_t> budgets) const override {
    const std::vector<LaneRange> ranges = lane_ranges(lanes);
    const std::size_t least = n_least(ranges), rest = total - std::min(total, least);
    std::vector<std::size_t> winners(lanes.size());
    best_of_all(lanes, least + rest, winners);  // the protected rank before all others
    const double equal = static_cast<double>(rest) / static_cast<double>(lanes.size());
    std::vector<double> desired(lanes.size());
    for (std::size_t i = 0; i < lanes.size(); ++i)
      desired[i] =
          (1 - alpha_) * static_cast<double>(winners[i] - ranges[i].least) + alpha_ * equal;
    share_rest(desired, ranges, total, budgets);
  }

 private:
  double alpha_ = 0.2;
};
}  // namespace

extern const StageMaker allocators_across_heads =
    stage_of<AcrossHeadsAllocator>("arXiv:2407.11550");
}  // namespace satchel::kvcache
