// Divides lanes into two kinds. Retrieval lanes keep everything, as many of them as the total
// allows; the others keep their newest tokens. The model's head-budget profile ranks the lanes.
//   params  recent        newest tokens that every lane keeps beside what it protects (0)
//           recent_share  the same as a part of the text, where that is more (0)
//   formula every lane gets what it protects and its recent part; then lanes are filled up, in the
//           order of their mean share over the table's rows, ties to the lower, until the total is
//           spent, the last of them as far as that goes
//   needs   CacheShape::head_budgets; without them all lanes keep alike (uniform)
//   source  arXiv:2410.10819 (DuoAttention), arXiv:2407.15891 (RazorAttention; recent_share)
//   differs the total says how many lanes remember, where the papers say how many and the total
//           follows; where it does not reach for all recent parts these are shorter, all alike, and
//           no lane is whole
#include <algorithm>
#include <numeric>
#include <vector>

#include "kvcache/stages/apportion.h"
#include "kvcache/stages/layer_totals.h"
#include "kvcache/stages/share.h"
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {

// Of the n lanes that are asked about, by the mean of all rows: where lanes are whole or not, few
// rows tell any two of them apart.
std::vector<std::size_t> most_remembering_first(const TokenSpan& span, std::size_t n) {
  SATCHEL_ASSERT(span.first_lane + n <= span.head_budgets->n_lanes());
  std::vector<double> sums(n);
  for (const HeadBudgets::Row& row : span.head_budgets->rows)
    for (std::size_t i = 0; i < n; ++i) sums[i] += row.shares[span.first_lane + i];
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t i) { return sums[i]; });
  return order;
}

class HeadSplitAllocator final : public Allocator {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(recent_, params.count("recent", {.fallback = 0, .min = 0, .max = 1u << 20}));
    SATCHEL_TRY_ASSIGN(recent_share_,
                       params.number("recent_share", {.fallback = 0, .min = 0, .max = 1}));
    return {};
  }
  bool needs_head_budgets() const override { return true; }

  void totals(const TokenSpan& span, std::size_t n_protected,
              std::span<std::size_t> totals) const override {
    std::vector<std::size_t> budgets(span.n_lanes);
    if (!known(span, n_protected, budgets)) return Allocator::totals(span, n_protected, totals);
    sum_by_layer(span, budgets, totals);
  }

  bool known(const TokenSpan& span, std::size_t n_protected,
             std::span<std::size_t> budgets) const override {
    if (span.head_budgets == nullptr) return false;
    const std::vector<LaneRange> ranges(
        span.n_lanes, {.least = std::min(n_protected, span.n_tokens), .most = span.n_tokens});
    split(span, ranges, keep_total(span), budgets);
    return true;
  }

  void lanes(const TokenSpan& span, std::span<const LaneScores> lanes, std::size_t total,
             std::span<std::size_t> budgets) const override {
    if (span.head_budgets == nullptr) return Allocator::lanes(span, lanes, total, budgets);
    split(span, lane_ranges(lanes), total, budgets);
  }

 private:
  void split(const TokenSpan& span, std::span<const LaneRange> ranges, std::size_t total,
             std::span<std::size_t> budgets) const {
    const std::size_t n = ranges.size();
    const auto share = static_cast<std::size_t>(recent_share_ * static_cast<double>(span.n_tokens));
    std::vector<std::size_t> recent;
    for (const LaneRange& range : ranges)
      recent.push_back(std::min(std::max(recent_, share), range.n_free()));
    std::size_t left = total - std::min(total, n_least(ranges));
    const std::vector<double> alike(n, static_cast<double>(left) / static_cast<double>(n));
    share_out(alike, recent, left, budgets);
    left -= std::accumulate(budgets.begin(), budgets.end(), std::size_t{0});
    for (const std::size_t lane : most_remembering_first(span, n)) {
      const std::size_t more = std::min(left, ranges[lane].n_free() - budgets[lane]);
      budgets[lane] += more;
      left -= more;
    }
    for (std::size_t lane = 0; lane < n; ++lane) budgets[lane] += ranges[lane].least;
  }

  std::size_t recent_ = 0;
  double recent_share_ = 0;
};
}  // namespace

extern const StageMaker allocators_head_split =
    stage_of<HeadSplitAllocator>("arXiv:2410.10819, arXiv:2407.15891");
}  // namespace satchel::kvcache
