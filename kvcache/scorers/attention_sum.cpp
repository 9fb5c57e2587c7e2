// Scores a token by the attention it received from all queries: the column sum of the attention map,
// without the map.
//   params  decoding  whether generated tokens' queries count too (false)
//   needs   queries and LSE of every chunk, and of every step where decoding
//   cost    one more Q·Kᵀ (Backend::score)
//   source  arXiv:2306.14048 (H2O), arXiv:2411.18077 section 3.3 (two passes)
//   differs mean over the query heads of a lane, which the papers (one KV head per query head) need
//           not say
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {
class AttentionSumScorer final : public Scorer {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(decoding_, params.flag("decoding", false));
    return {};
  }
  ScorerWants wants(const LaneShares*) const override {
    return {.reading = true, .decoding = decoding_};
  }
  Result<void> observe(kernels::Backend& backend, const Observation& seen,
                       std::span<const ObservedLane> lanes) const override {
    return score_lanes(backend, seen, lanes, {});
  }

 private:
  bool decoding_ = false;
};
}  // namespace

extern const StageEntry scorers_attention_sum{.kind = StageKind::scorer,
                                              .name = "attention_sum",
                                              .source = "arXiv:2306.14048, arXiv:2411.18077",
                                              .make = make_stage<AttentionSumScorer>};
}  // namespace satchel::kvcache
