// Scores a token by the attention it received from the last queries of its text: those that say what
// the text is about, or ask.
//   params  window         how many last queries look (32)
//           layer_shared   one score for all lanes of a layer: the mean over its query heads (false)
//   needs   queries and LSE of the chunks in which the span ends
//   cost    one more Q·Kᵀ of the window's rows
//   source  arXiv:2404.14469 (SnapKV) section 4; layer_shared: arXiv:2412.05896 (XKV)
//   differs sums over the window where the papers take the mean, which ranks the same; mean over the
//           query heads of a lane, where the authors' code keeps a cache per query head
#include <algorithm>

#include "kvcache/stages/share.h"
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {
class AttentionWindowScorer final : public Scorer {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(window_, params.count("window", {.fallback = 32, .min = 1, .max = 4096}));
    SATCHEL_TRY_ASSIGN(layer_shared_, params.flag("layer_shared", false));
    return {};
  }
  ScorerWants wants(const LaneShares*) const override { return {.reading = true}; }

  Result<void> observe(kernels::Backend& backend, const Observation& seen,
                       std::span<const ObservedLane> lanes) const override {
    const std::size_t first = seen.span_end - std::min(seen.span_end, window_);
    const auto n_rows = static_cast<std::size_t>(std::count_if(
        seen.positions.begin(), seen.positions.end(),
        [first](std::int32_t position) { return static_cast<std::size_t>(position) >= first; }));
    if (n_rows == 0) return {};
    return score_lanes(backend, last_rows(seen, n_rows), lanes, {});
  }
  Result<void> finish(kernels::Backend&, const LayerShape&, const TokenSpan&,
                      std::span<const ScoredLane> lanes) const override {
    if (layer_shared_) share_scores(lanes);
    return {};
  }

 private:
  std::size_t window_ = 32;
  bool layer_shared_ = false;
};
}  // namespace

extern const StageEntry scorers_attention_window{.kind = StageKind::scorer,
                                                 .name = "attention_window",
                                                 .source = "arXiv:2404.14469, arXiv:2412.05896",
                                                 .make = make_stage<AttentionWindowScorer>};
}  // namespace satchel::kvcache
