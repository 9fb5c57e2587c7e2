// Scores a token by the attention it received from all queries of its prompt: the column sum of the
// attention map, without the map.
//   needs   queries and LSE of every chunk
//   cost    one more Q·Kᵀ of the prompt (Backend::score)
//   source  arXiv:2306.14048 (H2O), arXiv:2411.18077 section 3.3 (two passes); tests H1, K1, M2 of
//           ../shared/methods/selection.md
//   differs mean over the query heads of a lane, which the papers (one KV head per query head) need
//           not say
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {
class AttentionSumScorer final : public Scorer {
 public:
  bool wants_queries() const override { return true; }
  Result<void> observe(kernels::Backend& backend, const SpanLane& lane, const QueryChunk& chunk,
                       float* scores) const override {
    return backend.score({.q = chunk.q,
                          .lse = chunk.lse,
                          .n_tokens = chunk.positions.size(),
                          .n_heads = lane.n_heads,
                          .head_dim = lane.head_dim,
                          .first_head = lane.first_head,
                          .n_group = lane.n_group,
                          .positions = chunk.positions,
                          .keys = lane.keys,
                          .scale = lane.scale,
                          .scores = scores});
  }
  Result<void> finish(kernels::Backend&, const SpanLane&, float*) const override { return {}; }
};
}  // namespace

extern const StageEntry scorers_attention_sum{.kind = StageKind::scorer,
                                              .name = "attention_sum",
                                              .source = "arXiv:2306.14048, arXiv:2411.18077",
                                              .make = make_stage<AttentionSumScorer>};
}  // namespace satchel::kvcache
