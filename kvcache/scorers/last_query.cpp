// Scores a token by the attention from the newest query, with one score for all lanes of a layer:
// the mean over its query heads.
//   needs   the last query of prefill, and the newest decode step
//   cost    one row per layer and step
//   source  arXiv:2401.06104 (TOVA) section 3.2

#include "kvcache/stages/share.h"
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {
class LastQueryScorer final : public Scorer {
 public:
  ScorerRequirements requirements(const HeadBudgets*) const override {
    return {.prefill = true, .decoding = true, .newest_step = true};
  }
  Result<void> observe(kernels::Backend& backend, const Observation& seen,
                       std::span<const ObservedLane> lanes) const override {
    const auto newest = static_cast<std::size_t>(seen.positions.back());
    if (seen.purpose == Purpose::prefill && newest + 1 != seen.span_end) return {};
    return score_lanes(backend, last_rows(seen, 1), lanes, {});
  }
  Result<void> finish(kernels::Backend&, const LayerShape&, const TokenSpan&,
                      std::span<const ScoredLane> lanes) const override {
    share_scores(lanes);
    return {};
  }
};
}  // namespace

extern const StageMaker scorers_last_query = stage_of<LastQueryScorer>("arXiv:2401.06104");
}  // namespace satchel::kvcache
