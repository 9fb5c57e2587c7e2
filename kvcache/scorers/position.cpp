// Scores a token by its position: with protected sinks, the beginning and end of a text are
// retained.
//   cost    none
//   source  arXiv:2309.17453 (StreamingLLM)
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {
class PositionScorer final : public Scorer {
 public:
  ScorerRequirements requirements(const HeadBudgets*) const override { return {}; }
  Result<void> observe(kernels::Backend&, const Observation&,
                       std::span<const ObservedLane>) const override {
    return {};
  }
  bool scores_held() const override { return true; }
  bool score_held(const HeldKeys&, std::span<float>) const override { return true; }
  Result<void> finish(kernels::Backend&, const LayerShape&, const TokenSpan&,
                      std::span<const ScoredLane> lanes) const override {
    for (const ScoredLane& lane : lanes)
      for (std::size_t t = 0; t < lane.scores.size(); ++t)
        if (lane.scores[t] != kNotThere) lane.scores[t] = static_cast<float>(t + 1);
    return {};
  }
};
}  // namespace

extern const StageMaker scorers_position = stage_of<PositionScorer>("arXiv:2309.17453");
}  // namespace satchel::kvcache
