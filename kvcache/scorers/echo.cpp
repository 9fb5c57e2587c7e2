// Echo, a one-pass form of KVzip's reconstruction score: the largest attention that a token would
// get if the model repeated the text. The queries of prefill are rotated as if they were one block
// later, and attend back over the whole block, including their own past.
//   formula z' = scale · (R(m) q_t) · k_j, m = the block's length;
//           score_j = max over the lane's heads and all t of
//                     exp(z' - log(exp(L_t) + sum over sinks and block of exp(z')))
//           where L_t is the logsumexp of the prefill itself
//   params  block   queries that attend back together (2048; shorter blocks were worse)
//           band    attend to the token itself and the next one only, O(n) (false)
//   needs   queries and LSE of blocks; lanes without a choice are not scored
//   cost    two Q·Kᵀ of a block, where its prefill had Q·Kᵀ and P·V of all before it; band: next to
//           nothing
//   source  ours; the question asked is that of arXiv:2505.23416 (KVzip)
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {

class EchoScorer final : public Scorer {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(band_, params.flag("band", false));
    SATCHEL_TRY_ASSIGN(
        block_, params.count("block", {.fallback = band_ ? 512u : 2048u, .min = 64, .max = 8192}));
    return {};
  }
  ScorerRequirements requirements(const HeadBudgets*) const override {
    return {.prefill = true, .block_tokens = block_};
  }
  Result<void> observe(kernels::Backend& backend, const Observation& seen,
                       std::span<const ObservedLane> lanes) const override {
    return echo_lanes(backend, seen, lanes,
                      band_ ? kernels::AttentionMask::band : kernels::AttentionMask::full);
  }

 private:
  bool band_ = false;
  std::size_t block_ = 2048;
};
}  // namespace

extern const StageMaker scorers_echo = stage_of<EchoScorer>("ours; arXiv:2505.23416");
}  // namespace satchel::kvcache
