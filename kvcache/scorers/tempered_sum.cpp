// Scores a token by the attention it would have received from all queries at a higher temperature:
// column sums as attention_sum's, of a flatter softmax, so that what is nearly looked at counts
// too.
//   formula sum over queries i of softmax_j(logit_ij / temperature), over all that i sees
//   params  temperature  1: attention_sum's scores (1.5: the middle of the paper's 1 to 2)
//   needs   queries of every chunk
//   cost    two more Q·Kᵀ: the softmax has a normaliser of its own (Backend::logsumexp,
//           score), for which the plan holds 256 queries at a time
//   source  arXiv:2403.09054 (Keyformer) sections 3.2 and 3.3
//   differs no Gumbel noise is added to the logits, so that the same text is always cut alike; one
//           temperature, where the paper's rises from 1 to 2 while it answers
#include <limits>
#include <vector>

#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {
class TemperedSumScorer final : public Scorer {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(temperature_,
                       params.number("temperature", {.fallback = 1.5, .min = 0.1, .max = 1e6}));
    return {};
  }
  ScorerRequirements requirements(const HeadBudgets*) const override { return {.prefill = true}; }
  // The normalisers of kRows queries.
  std::size_t state_floats(const LayerShape& layer, std::size_t) const override {
    return kRows * layer.n_heads;
  }

  Result<void> observe(kernels::Backend& backend, const Observation& seen,
                       std::span<const ObservedLane> lanes) const override {
    for (std::size_t first = 0; first < seen.batch.n_tokens; first += kRows) {
      const std::size_t n = std::min(seen.batch.n_tokens - first, kRows);
      SATCHEL_TRY(observe_rows(backend, rows_of(seen, first, n), lanes));
    }
    return {};
  }

 private:
  static constexpr std::size_t kRows = 256;

  Result<void> observe_rows(kernels::Backend& backend, const Observation& seen,
                            std::span<const ObservedLane> lanes) const {
    LayerShape layer = seen.layer;  // cap(x) / t is a cap of x / t with a t-th of the bound
    layer.attention_scale = static_cast<float>(double{layer.attention_scale} / temperature_);
    layer.soft_cap = static_cast<float>(double{layer.soft_cap} / temperature_);
    for (float& sink : layer.sink_logits) sink = static_cast<float>(double{sink} / temperature_);
    SATCHEL_TRY(upload(backend, seen.state, layer.lse_of_no_key(seen.batch.n_tokens)));
    float* lse = seen.state;
    const Observation warm{.purpose = seen.purpose,
                           .layer = layer,
                           .batch = seen.batch,
                           .positions = seen.positions,
                           .q = seen.q,
                           .lse = lse,
                           .span_first = seen.span_first,
                           .span_end = seen.span_end,
                           .block_lse = lse};
    SATCHEL_TRY(logsumexp_lanes(backend, warm, lanes, kernels::AttentionMask::causal));
    std::vector<ObservedLane> held(lanes.begin(), lanes.end());
    for (ObservedLane& lane : held) lane.keys = lane.held;
    SATCHEL_TRY(logsumexp_lanes(backend, warm, held, kernels::AttentionMask::causal));
    return score_lanes(backend, warm, lanes, {});
  }

  double temperature_ = 1.5;
};
}  // namespace

extern const StageMaker scorers_tempered_sum = stage_of<TemperedSumScorer>("arXiv:2403.09054");
}  // namespace satchel::kvcache
