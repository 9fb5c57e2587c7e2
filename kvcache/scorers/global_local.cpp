// Scores a token by the attention it received from all queries or from the last ones, whichever is
// larger.
//   params  window  number of last queries (32)
//   formula s = max(local, global · Σ local / Σ global), each a lane's column sums; Σ over its
//           tokens
//   needs   queries and LSE of every chunk; another vector of scores for each lane of a layer
//   cost    one more Q·Kᵀ, and one of the window's rows
//   source  arXiv:2412.08521 (EMS), global-local score
//   differs the form of the alignment is ours: there is no public code to compare with; sums where
//           the paper may take means, which the alignment makes the same; mean over the query heads
//           of a lane
#include <algorithm>
#include <numeric>
#include <vector>

#include "kvcache/stages/row_weights.h"
#include "kvcache/stages/span_rows.h"

namespace satchel::kvcache {
namespace {

double sum_of(std::span<const float> scores) {
  return std::accumulate(scores.begin(), scores.end(), 0.0,
                         [](double sum, float score) { return sum + static_cast<double>(score); });
}

class GlobalLocalScorer final : public Scorer {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(window_, params.count("window", {.fallback = 32, .min = 1, .max = 4096}));
    return {};
  }
  ScorerRequirements requirements(const HeadBudgets*) const override { return {.prefill = true}; }
  // The local scores of all lanes; the global ones are added up where the lanes' scores are.
  std::size_t state_floats(const LayerShape& layer, std::size_t n_tokens) const override {
    return layer.n_kv_heads * n_tokens;
  }

  Result<void> observe(kernels::Backend& backend, const Observation& seen,
                       std::span<const ObservedLane> lanes) const override {
    SATCHEL_TRY(score_lanes(backend, seen, lanes, {}));
    const std::size_t n_rows = n_in_window(seen, window_);
    if (n_rows == 0) return {};
    std::vector<ObservedLane> local(lanes.begin(), lanes.end());
    for (ObservedLane& lane : local) lane.scores = state_row(seen, lane);
    SATCHEL_TRY(score_lanes(backend, last_rows(seen, n_rows), local, {}));
    return score_spans(backend, seen, lanes, [&](const SpanLane& lane, std::span<float> scores) {
      return take_larger(backend, lane, scores);
    });
  }

 private:
  Result<void> take_larger(kernels::Backend& backend, const SpanLane& lane,
                           std::span<float> scores) const {
    std::vector<float> local(scores.size());
    SATCHEL_TRY(download(backend, scores, lane.lane.scores));
    SATCHEL_TRY(download(backend, local, state_row(lane.seen, lane.lane)));
    const double global_sum = sum_of(scores);
    const double aligned = global_sum > 0 ? sum_of(local) / global_sum : 0;
    for (std::size_t t = 0; t < scores.size(); ++t)
      scores[t] = std::max(local[t], static_cast<float>(static_cast<double>(scores[t]) * aligned));
    return {};
  }

  std::size_t window_ = 32;
};
}  // namespace

extern const StageMaker scorers_global_local = stage_of<GlobalLocalScorer>("arXiv:2412.08521");
}  // namespace satchel::kvcache
