// Gives each lane its budget from the model's head-budget profile (HeadBudgets). A few lanes do
// most of the retrieval, and which ones hardly depends on the text. So lanes need not be compared,
// and all budgets are known before prefill.
//   formula a lane's budget: its share at the span's `keep`, scaled by one factor for all lanes so
//           that the sum is met; none below what it protects, none above what it holds
//   needs   CacheShape::head_budgets; without them the tokens of all lanes compete (over_all)
//   source  ours; budgets after arXiv:2505.23416 (KVzip), a table per model after arXiv:2407.15891
//           (RazorAttention), arXiv:2410.10819 (DuoAttention) and arXiv:2410.19258 (HeadKV)
#include <algorithm>
#include <vector>

#include "kvcache/stages/apportion.h"
#include "kvcache/stages/ranking.h"
#include "kvcache/stages/share.h"
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {

double sum_scaled(std::span<const double> shares, std::span<const LaneRange> ranges, double factor,
                  std::span<double> desired) {
  double sum = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    desired[i] = std::clamp(factor * shares[i], static_cast<double>(ranges[i].least),
                            static_cast<double>(ranges[i].most));
    sum += desired[i];
  }
  return sum;
}

// The factor is found by halving: the sum rises with it.
void scale_to(double total, std::span<const double> shares, std::span<const LaneRange> ranges,
              std::span<double> desired) {
  constexpr int kHalvings = 60;
  double low = 0, high = 1;
  std::size_t most = 0;
  for (const LaneRange& range : ranges) most += range.most;
  total = std::min(total, static_cast<double>(most));
  for (int i = 0; i < kHalvings && sum_scaled(shares, ranges, high, desired) < total; ++i)
    high *= 2;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (sum_scaled(shares, ranges, middle, desired) < total ? low : high) = middle;
  }
  sum_scaled(shares, ranges, high, desired);
}

class LaneTableAllocator final : public Allocator {
 public:
  Scope scope() const override { return Scope::cache; }
  bool needs_head_budgets() const override { return true; }

  bool known(const TokenSpan& span, std::size_t n_protected,
             std::span<std::size_t> budgets) const override {
    if (span.head_budgets == nullptr) return false;
    const std::vector<LaneRange> ranges(
        span.n_lanes, {.least = std::min(n_protected, span.n_tokens), .most = span.n_tokens});
    by_table(span, ranges, keep_total(span), budgets);
    return true;
  }

  void lanes(const TokenSpan& span, std::span<const LaneScores> lanes, std::size_t total,
             std::span<std::size_t> budgets) const override {
    const std::vector<LaneRange> ranges = lane_ranges(lanes);
    if (span.head_budgets != nullptr) return by_table(span, ranges, total, budgets);
    best_of_all(lanes, std::max(total, n_least(ranges)), budgets);
  }

 private:
  static void by_table(const TokenSpan& span, std::span<const LaneRange> ranges, std::size_t total,
                       std::span<std::size_t> budgets) {
    std::vector<double> shares(span.head_budgets->n_lanes()), desired(ranges.size());
    SATCHEL_ASSERT(shares.size() == ranges.size());
    span.head_budgets->at(span.keep, shares);
    for (double& share : shares) share *= static_cast<double>(span.n_tokens);
    scale_to(static_cast<double>(total), shares, ranges, desired);
    for (std::size_t i = 0; i < ranges.size(); ++i)
      desired[i] -= static_cast<double>(ranges[i].least);
    share_rest(desired, ranges, total, budgets);
  }
};
}  // namespace

extern const StageMaker allocators_lane_table = stage_of<LaneTableAllocator>(
    "ours; arXiv:2505.23416, arXiv:2407.15891, arXiv:2410.10819, arXiv:2410.19258");
}  // namespace satchel::kvcache
