// Scores a token by the most attention that any query gives it while the model repeats the text:
// what is needed to say it again is needed to answer about it, whatever the question.
//   needs   a second pass (probe) over each chunk of the text
//   cost    about one more prefill of the text
//   source  arXiv:2505.23416 (KVzip) section 3; max over queries and the lane's query heads
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {
class ReconstructionScorer final : public Scorer {
 public:
  ScorerRequirements requirements(const HeadBudgets*) const override { return {.probe = true}; }
  Result<void> observe(kernels::Backend& backend, const Observation& seen,
                       std::span<const ObservedLane> lanes) const override {
    kernels::ScoreArgs args;
    args.queries = kernels::ScoreArgs::Queries::max;
    args.heads = kernels::ScoreArgs::Heads::max;
    return score_lanes(backend, seen, lanes, args);
  }
};
}  // namespace

extern const StageMaker scorers_reconstruction = stage_of<ReconstructionScorer>("arXiv:2505.23416");
}  // namespace satchel::kvcache
