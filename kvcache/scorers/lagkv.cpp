// Scores a token by the spread of its key and value relative to the ranges of the next partition.
// The text is divided into partitions; each is normalised by the next one and ranked by itself.
//   formula x = (k_j - min) / (max - min), min and max of each channel over the next
//           partition; y_j = softmax over the partition of the standard deviation of x over
//           channels; the same of values; score = rank of (y of the key + y of the value) / 2 in
//           its partition, / lag
//   params  lag    tokens per partition (128)
//           sinks  first tokens of the conversation, before the first partition (4)
//           ranked false: (y + y) / 2 itself, so that partitions compete (true)
//   needs   the exact keys and values of the text at the end of prefill
//   cost    two reads of K and V
//   source  arXiv:2504.04704 (LagKV)
//   differs the first tokens, the last whole partition and the tokens after it have no next one
//           and score 1; in a text of less than two partitions later tokens score higher; a channel
//           that is constant in the next partition is ignored; of equal tokens the earlier ranks
//           higher
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kvcache/stages/span_rows.h"

namespace satchel::kvcache {
namespace {

// Takes rows one by one; measures the spread of each partition as soon as the next is whole.
class LagMeter {
 public:
  LagMeter(std::size_t lag, std::size_t head_dim) : lag_(lag), d_(head_dim) {}

  //   importance  [partitions · lag], added to
  void take(std::span<const float> row, std::span<double> importance) {
    next_.insert(next_.end(), row.begin(), row.end());
    if (next_.size() < lag_ * d_) return;
    if (!measured_.empty()) add(importance.subspan(n_done_++ * lag_, lag_));
    measured_.swap(next_);
    next_.clear();
  }

 private:
  void add(std::span<double> importance) const {
    std::vector<double> least(d_, INFINITY), most(d_, -INFINITY), uneven(lag_);
    for (std::size_t i = 0; i < next_.size(); ++i) {
      const auto x = static_cast<double>(next_[i]);
      least[i % d_] = std::min(least[i % d_], x);
      most[i % d_] = std::max(most[i % d_], x);
    }
    for (std::size_t t = 0; t < lag_; ++t) uneven[t] = deviation(t, least, most);
    const double top = *std::max_element(uneven.begin(), uneven.end());
    double sum = 0;
    for (double& x : uneven) sum += x = std::exp(x - top);
    for (std::size_t t = 0; t < lag_; ++t) importance[t] += uneven[t] / sum / 2;
  }
  double deviation(std::size_t t, std::span<const double> least,
                   std::span<const double> most) const {
    std::vector<double> x;
    for (std::size_t c = 0; c < d_; ++c)
      if (most[c] > least[c])
        x.push_back((static_cast<double>(measured_[t * d_ + c]) - least[c]) / (most[c] - least[c]));
    if (x.size() < 2) return 0;
    const auto n = static_cast<double>(x.size());
    const double mean = std::accumulate(x.begin(), x.end(), 0.0) / n;
    double squares = 0;
    for (const double each : x) squares += (each - mean) * (each - mean);
    return std::sqrt(squares / (n - 1));
  }

  std::size_t lag_, d_, n_done_ = 0;
  std::vector<float> measured_, next_;  // a partition, and the next one so far
};

class LagkvScorer final : public SpanScorer {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(lag_, params.count("lag", {.fallback = 128, .min = 2, .max = 4096}));
    SATCHEL_TRY_ASSIGN(sinks_, params.count("sinks", {.fallback = 4, .min = 0, .max = 1024}));
    SATCHEL_TRY_ASSIGN(ranked_, params.flag("ranked", true));
    return {};
  }

 private:
  Result<void> score_lane(kernels::Backend& backend, const SpanLane& lane,
                          std::span<float> scores) const override {
    const std::size_t n = scores.size(), skip = lane.n_first(sinks_);
    std::fill(scores.begin(), scores.end(), 1.0f);
    if (n < skip + 2 * lag_) {
      for (std::size_t t = skip; t < n; ++t)
        scores[t] = static_cast<float>(t - skip) / static_cast<float>(n - skip);
      return {};
    }
    const std::size_t n_measured = (n - skip) / lag_ - 1;
    std::vector<double> importance(n_measured * lag_);
    for (const Rows& rows : {lane.k, lane.v}) {
      LagMeter meter(lag_, rows.head_dim);
      SATCHEL_TRY(each_row(backend, rows, [&](std::size_t t, std::span<const float> row) {
        if (t >= skip && t - skip < (n_measured + 1) * lag_) meter.take(row, importance);
      }));
    }
    for (std::size_t at = 0; at < importance.size(); at += lag_)
      place(std::span(importance).subspan(at, lag_), scores.subspan(skip + at, lag_));
    return {};
  }
  void place(std::span<const double> importance, std::span<float> scores) const {
    std::vector<std::size_t> order(importance.size());
    std::iota(order.rbegin(), order.rend(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return importance[a] < importance[b]; });
    for (std::size_t rank = 0; rank < order.size(); ++rank)
      scores[order[rank]] = ranked_ ? static_cast<float>(rank) / static_cast<float>(order.size())
                                    : static_cast<float>(importance[order[rank]]);
  }

  std::size_t lag_ = 128, sinks_ = 4;
  bool ranked_ = true;
};
}  // namespace

extern const StageMaker scorers_lagkv = stage_of<LagkvScorer>("arXiv:2504.04704");
}  // namespace satchel::kvcache
