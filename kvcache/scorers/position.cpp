// Scores a token by how late it stands: with sinks protected, what stays is the beginning and the end
// of a text.
//   cost    none
//   source  arXiv:2309.17453 (StreamingLLM)
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {
class PositionScorer final : public Scorer {
 public:
  ScorerWants wants(const LaneShares*) const override { return {}; }
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

extern const StageEntry scorers_position{.kind = StageKind::scorer,
                                         .name = "position",
                                         .source = "arXiv:2309.17453",
                                         .make = make_stage<PositionScorer>};
}  // namespace satchel::kvcache
