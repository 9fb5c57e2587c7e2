// Scores a token by the attention it received from the last queries of its text, which tend to
// state its topic or ask a question.
//   params  window         number of last queries (32)
//           share          number of last queries as a share of the text's, plus one; 0: use window
//                          (0)
//           newest         weight of the newest query; the oldest has 1, linear in between (1)
//           layer_shared   one score for all lanes of a layer: the mean over its query heads
//                          (false)
//   needs   queries and LSE of the chunks in which the span ends
//   cost    one more Q·Kᵀ of the window's rows
//   source  arXiv:2404.14469 (SnapKV) section 4; layer_shared: arXiv:2412.05896 (XKV); share and
//           newest: arXiv:2405.12532 (PyramidInfer), the authors' settings 0.2 and 1.2
//   differs sums over the window where the papers take the mean, which ranks the same; mean over
//           the query heads of a lane, where the authors' code keeps a cache per query head
#include <algorithm>
#include <vector>

#include "kvcache/stages/row_weights.h"
#include "kvcache/stages/share.h"
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {
class AttentionWindowScorer final : public Scorer {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(window_, params.count("window", {.fallback = 32, .min = 1, .max = 4096}));
    SATCHEL_TRY_ASSIGN(share_, params.number("share", {.fallback = 0, .min = 0, .max = 1}));
    SATCHEL_TRY_ASSIGN(newest_, params.number("newest", {.fallback = 1, .min = 1, .max = 100}));
    SATCHEL_TRY_ASSIGN(layer_shared_, params.flag("layer_shared", false));
    return {};
  }
  ScorerRequirements requirements(const HeadBudgets*) const override { return {.prefill = true}; }
  std::size_t state_floats(const LayerShape&, std::size_t) const override {
    return newest_ > 1 ? kWeightRows : 0;
  }

  Result<void> observe(kernels::Backend& backend, const Observation& seen,
                       std::span<const ObservedLane> lanes) const override {
    const std::size_t n_window = window(seen.span_end - seen.span_first);
    const std::size_t n_rows = n_in_window(seen, n_window);
    if (n_rows == 0) return {};
    const Observation rows = last_rows(seen, n_rows);
    if (newest_ <= 1 || n_window < 2) return score_lanes(backend, rows, lanes, {});
    const std::size_t first = seen.span_end - std::min(seen.span_end, n_window);
    std::vector<float> weights;
    for (const std::int32_t position : rows.positions) {
      const auto place = static_cast<double>(static_cast<std::size_t>(position) - first);
      weights.push_back(
          static_cast<float>(1 + (newest_ - 1) * place / static_cast<double>(n_window - 1)));
    }
    return score_weighted(backend, rows, lanes, weights);
  }
  Result<void> finish(kernels::Backend&, const LayerShape&, const TokenSpan&,
                      std::span<const ScoredLane> lanes) const override {
    if (layer_shared_) share_scores(lanes);
    return {};
  }

 private:
  std::size_t window(std::size_t n_tokens) const {
    if (share_ <= 0) return window_;
    return static_cast<std::size_t>(share_ * static_cast<double>(n_tokens)) + 1;
  }

  std::size_t window_ = 32;
  double share_ = 0, newest_ = 1;
  bool layer_shared_ = false;
};
}  // namespace

extern const StageMaker scorers_attention_window =
    stage_of<AttentionWindowScorer>("arXiv:2404.14469, arXiv:2412.05896, arXiv:2405.12532");
}  // namespace satchel::kvcache
