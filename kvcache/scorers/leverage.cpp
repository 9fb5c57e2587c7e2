// Scores a token by the leverage of its key: how far it is, before RoPE, from the span of the
// others.
//   formula kvcache/stages/leverage.h
//   params  sketch  columns of the random sketch (48); 0: none, exact scores
//   needs   keys before RoPE of every chunk; their mean and covariance, kept while a layer is read
//   cost    head_dim² / 2 + sketch · head_dim multiplications of each key
//   source  arXiv:2507.08143 (Compactor), its first half alone
//   differs the sketch is the same on every run, one for each KV head, where NVIDIA's kvpress draws
//           a new one; a key that is scored has been rounded to fp16; no z-normalisation, which
//           ranks the same
#include "kvcache/stages/leverage.h"

namespace satchel::kvcache {
namespace {

class LeverageScorer final : public Scorer {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(sketch_, params.count("sketch", {.fallback = 48, .min = 0, .max = 1024}));
    return {};
  }
  ScorerRequirements requirements(const HeadBudgets*) const override {
    return {.prefill = true, .pre_rope = true};
  }
  std::size_t state_floats(const LayerShape& layer, std::size_t) const override {
    return moments_floats(layer.n_kv_heads, layer.head_dim);
  }
  Result<void> observe(kernels::Backend& backend, const Observation& seen,
                       std::span<const ObservedLane> lanes) const override {
    const LayerShape& layer = seen.layer;
    SATCHEL_TRY_ASSIGN(const std::vector<double> state, add_moments(backend,
                                                                    {.x = seen.pre_rope_k,
                                                                     .first = 0,
                                                                     .end = seen.batch.n_tokens,
                                                                     .n_vectors = layer.n_kv_heads,
                                                                     .d = layer.head_dim},
                                                                    seen.state));
    return score_spans(backend, seen, lanes, [&](const SpanLane& lane, std::span<float> scores) {
      const Moments keys = moments_of(state, lane.head(), layer.head_dim);
      return leverage(backend, lane, keys, sketch_, scores);
    });
  }

 private:
  std::size_t sketch_ = 48;
};
}  // namespace

extern const StageMaker scorers_leverage = stage_of<LeverageScorer>("arXiv:2507.08143");
}  // namespace satchel::kvcache
