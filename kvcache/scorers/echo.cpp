// Scores a token by the most attention that it would get if the model said the text again, without
// saying it again: the reading's own queries are turned as if they stood a block later and look back
// over the whole block, their own past included. What KVzip learns by a second reading, in the first.
//   formula z' = scale · (R(m) q_t) · k_j, m = the block's length;
//           score_j = max over the lane's heads and all t of
//                     exp(z' - log(exp(L_t) + sum over sinks and block of exp(z')))
//           where L_t is the log-sum-exp of the reading itself
//   params  block   queries that look back together (2048: shorter ones were worse)
//           band    only the token itself and the one behind it are looked at, O(n) (false)
//   needs   queries and LSE of blocks; no lane that has no choice
//   cost    two Q·Kᵀ of a block, where its reading had Q·Kᵀ and P·V of all before it; band: next to
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
  ScorerWants wants(const LaneShares*) const override {
    return {.reading = true, .block_tokens = block_};
  }
  Result<void> observe(kernels::Backend& backend, const Observation& seen,
                       std::span<const ObservedLane> lanes) const override {
    return echo_lanes(backend, seen, lanes,
                      band_ ? kernels::Sees::here_and_next : kernels::Sees::all);
  }

 private:
  bool band_ = false;
  std::size_t block_ = 2048;
};
}  // namespace

extern const StageEntry scorers_echo{.kind = StageKind::scorer,
                                     .name = "echo",
                                     .source = "ours; arXiv:2505.23416",
                                     .make = make_stage<EchoScorer>};
}  // namespace satchel::kvcache
