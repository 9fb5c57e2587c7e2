#include "runtime/model/arch/llama.h"

namespace satchel::runtime {

Result<void> LlamaGraph::embed(std::span<const std::int32_t> ids, float* x) const {
  return backend_.embed(*weights_.embedding, ids, x);
}

Result<void> LlamaGraph::project(std::size_t layer, const float* x,
                                 std::span<const std::int32_t> positions, Project what,
                                 const Workspace& work) const {
  const LayerWeights& weights = weights_.layers[layer];
  const std::size_t n = positions.size();
  kernels::RopeArgs rope{.x = work.q,
                         .n_tokens = n,
                         .n_heads = config_.n_heads,
                         .head_dim = config_.head_dim,
                         .positions = positions,
                         .inverse_frequency = config_.inverse_frequency,
                         .pairs = config_.rope_pairs};
  SATCHEL_TRY(backend_.rms_norm(x, weights.attention_gain, n, config_.width, config_.norm_epsilon,
                                work.normed));
  SATCHEL_TRY(backend_.matmul(*weights.q, work.normed, n, work.q));
  SATCHEL_TRY(backend_.rope(rope));
  if (what == Project::queries) return {};
  SATCHEL_TRY(backend_.matmul(*weights.k, work.normed, n, work.k));
  SATCHEL_TRY(backend_.matmul(*weights.v, work.normed, n, work.v));
  rope.x = work.k;
  rope.n_heads = config_.n_kv_heads;
  return backend_.rope(rope);
}

Result<void> LlamaGraph::attend(std::span<const kernels::LaneView> lanes,
                                std::span<const std::int32_t> positions, bool wants_lse,
                                const Workspace& work) const {
  return backend_.attend({.q = work.q,
                          .n_tokens = positions.size(),
                          .n_heads = config_.n_heads,
                          .head_dim = config_.head_dim,
                          .positions = positions,
                          .lanes = lanes,
                          .scale = config_.cache_shape().attention_scale,
                          .out = work.attended,
                          .lse = wants_lse ? work.lse : nullptr});
}

Result<void> LlamaGraph::finish(std::size_t layer, float* x, std::size_t n_tokens,
                                const Workspace& work) const {
  const LayerWeights& weights = weights_.layers[layer];
  const std::size_t n_values = n_tokens * config_.width;
  SATCHEL_TRY(backend_.matmul(*weights.attention_out, work.attended, n_tokens, work.normed));
  SATCHEL_TRY(backend_.add(x, work.normed, n_values));
  SATCHEL_TRY(backend_.rms_norm(x, weights.ffn_gain, n_tokens, config_.width, config_.norm_epsilon,
                                work.normed));
  SATCHEL_TRY(backend_.matmul(*weights.gate, work.normed, n_tokens, work.gate));
  SATCHEL_TRY(backend_.matmul(*weights.up, work.normed, n_tokens, work.up));
  SATCHEL_TRY(backend_.gated_silu(work.gate, work.up, n_tokens * config_.ffn_width));
  SATCHEL_TRY(backend_.matmul(*weights.down, work.gate, n_tokens, work.normed));
  return backend_.add(x, work.normed, n_values);
}

Result<void> LlamaGraph::final_norm(const float* x, std::size_t n_tokens, float* out) const {
  return backend_.rms_norm(x, weights_.output_gain, n_tokens, config_.width, config_.norm_epsilon,
                           out);
}

Result<void> LlamaGraph::logits(const float* normed, std::size_t n_tokens, float* out) const {
  return backend_.matmul(weights_.output(), normed, n_tokens, out);
}

}  // namespace satchel::runtime
