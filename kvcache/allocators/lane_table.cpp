// Gives each lane what the model's table says that it keeps as a rule (LaneShares): a few lanes do the
// remembering, and which they are hardly depends on the text. So no lane is compared with another, and
// everything is known before the text is read.
//   formula a lane's budget: its share at the span's `keep`, scaled by one factor for all lanes so that
//           the sum is met; none below what it protects, none above what it holds
//   needs   CacheShape::lane_shares; without them the tokens of all lanes compete (over_all)
//   source  ours; budgets after arXiv:2505.23416 (KVzip), a table per model after arXiv:2407.15891
//           (RazorAttention), arXiv:2410.10819 (DuoAttention) and arXiv:2410.19258 (HeadKV)
#include <algorithm>
#include <numeric>
#include <vector>

#include "kvcache/stages/apportion.h"
#include "kvcache/stages/ranking.h"
#include "kvcache/stages/share.h"
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {

double sum_scaled(std::span<const double> shares, std::span<const LaneRange> ranges, double factor,
                  std::span<double> wishes) {
  double sum = 0;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    wishes[i] = std::clamp(factor * shares[i], static_cast<double>(ranges[i].least),
                           static_cast<double>(ranges[i].most));
    sum += wishes[i];
  }
  return sum;
}

// The factor is found by halving: the sum rises with it.
void scale_to(double total, std::span<const double> shares, std::span<const LaneRange> ranges,
              std::span<double> wishes) {
  constexpr int kHalvings = 60;
  double low = 0, high = 1;
  std::size_t most = 0;
  for (const LaneRange& range : ranges) most += range.most;
  total = std::min(total, static_cast<double>(most));
  for (int i = 0; i < kHalvings && sum_scaled(shares, ranges, high, wishes) < total; ++i) high *= 2;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (sum_scaled(shares, ranges, middle, wishes) < total ? low : high) = middle;
  }
  sum_scaled(shares, ranges, high, wishes);
}

class LaneTableAllocator final : public Allocator {
 public:
  Scope scope() const override { return Scope::cache; }
  bool wants_lane_shares() const override { return true; }

  bool known(const TokenSpan& span, std::size_t n_protected,
             std::span<std::size_t> budgets) const override {
    if (span.lane_shares == nullptr) return false;
    const std::vector<LaneRange> ranges(
        span.n_lanes, {.least = std::min(n_protected, span.n_tokens), .most = span.n_tokens});
    by_table(span, ranges, keep_total(span), budgets);
    return true;
  }

  void lanes(const TokenSpan& span, std::span<const LaneScores> lanes, std::size_t total,
             std::span<std::size_t> budgets) const override {
    std::vector<LaneRange> ranges;
    std::vector<std::span<const float>> lists;
    std::size_t n_least = 0;
    for (const LaneScores& lane : lanes) {
      ranges.push_back(lane_range(lane));
      lists.push_back(lane.scores);
      n_least += ranges.back().least;
    }
    if (span.lane_shares != nullptr) return by_table(span, ranges, total, budgets);
    best_of_all(lists, std::max(total, n_least), budgets);
  }

 private:
  static void by_table(const TokenSpan& span, std::span<const LaneRange> ranges, std::size_t total,
                       std::span<std::size_t> budgets) {
    std::vector<double> shares(span.lane_shares->n_lanes()), wishes(ranges.size());
    SATCHEL_ASSERT(shares.size() == ranges.size());
    span.lane_shares->at(span.keep, shares);
    for (double& share : shares) share *= static_cast<double>(span.n_tokens);
    scale_to(static_cast<double>(total), shares, ranges, wishes);
    std::vector<std::size_t> free(ranges.size());
    std::size_t n_least = 0;
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      wishes[i] -= static_cast<double>(ranges[i].least);
      free[i] = ranges[i].n_free();
      n_least += ranges[i].least;
    }
    share_out(wishes, free, total - std::min(total, n_least), budgets);
    for (std::size_t i = 0; i < ranges.size(); ++i) budgets[i] += ranges[i].least;
  }
};
}  // namespace

extern const StageEntry allocators_lane_table{
    .kind = StageKind::allocator,
    .name = "lane_table",
    .source = "ours; arXiv:2505.23416, arXiv:2407.15891, arXiv:2410.10819, arXiv:2410.19258",
    .make = make_stage<LaneTableAllocator>};
}  // namespace satchel::kvcache
