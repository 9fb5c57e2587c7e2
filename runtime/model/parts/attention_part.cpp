#include "runtime/model/parts/attention_part.h"

#include <array>

namespace satchel::runtime {
namespace {

using QkNorm = BlockStyle::QkNorm;
using Projection = kernels::Backend::Projection;

struct Names {
  const char *weight, *bias, *gain;
};
constexpr Names kNames[] = {{"attn_q.weight", "attn_q.bias", "attn_q_norm.weight"},
                            {"attn_k.weight", "attn_k.bias", "attn_k_norm.weight"},
                            {"attn_v.weight", "attn_v.bias", nullptr}};

}  // namespace

// One tensor for all three has their rows in this order.
void AttentionPart::spec_of_operand(std::size_t which, std::vector<TensorSpec>& specs) {
  const std::size_t q_width = sizes().q_width(), kv_width = sizes().kv_width();
  const std::size_t first_rows[] = {0, q_width, q_width + kv_width};
  Operand& to = *std::array{&q_, &k_, &v_}[which];
  const std::size_t n_out = which == 0 ? q_width : kv_width;
  if (which == 0 && sizes().has_output_gate) {
    spec_of_gated_queries(specs);
  } else if (style_.is_fused) {
    specs.push_back(part_of(matrix("attn_qkv.weight", n_out, config_.width, to.weight),
                            first_rows[which], q_width + 2 * kv_width));
  } else {
    specs.push_back(matrix(kNames[which].weight, n_out, config_.width, to.weight));
    specs.push_back(vector(kNames[which].bias, n_out, to.bias));
    specs.back().is_optional = true;
  }
  if (kNames[which].gain == nullptr || style_.qk_norm == QkNorm::none) return;
  const bool of_heads = style_.qk_norm == QkNorm::of_heads;
  specs.push_back(
      vector(kNames[which].gain, of_heads ? sizes().attention.head_dim : n_out, to.gain));
}

void AttentionPart::spec_of_gated_queries(std::vector<TensorSpec>& specs) {
  const std::size_t q_width = sizes().q_width(), n = sizes().attention.head_dim;
  const auto half = [&](std::size_t first_row, const kernels::Weight*& to) {
    specs.push_back(
        blocks_of(matrix(kNames[0].weight, q_width, config_.width, to), first_row, n, 2 * n));
  };
  half(0, q_.weight);
  half(n, gate_);
}

void AttentionPart::spec(std::vector<TensorSpec>& specs) {
  spec_of_norms("attn_norm.weight", "post_attention_norm.weight", specs);
  const bool has_lanes = !sizes().reads_lanes_of;
  const std::size_t n_own = !has_lanes ? 1 : sizes().values_are_keys ? 2 : std::size(kNames);
  for (std::size_t which = 0; which < n_own; ++which) spec_of_operand(which, specs);
  if (style_.has_value_norm && has_lanes)
    specs.push_back(constant(1, sizes().attention.head_dim, v_.gain));
  specs.push_back(matrix("attn_output.weight", config_.width, sizes().q_width(), out_));
  specs.push_back(vector("attn_output.bias", config_.width, out_bias_));
  specs.back().is_optional = true;
  if (style_.has_output_scale) specs.push_back(known(kOutputScaleTensor));
  if (!sizes().attention.sink_logits.empty()) specs.push_back(known(kSinksTensor));
}

Result<void> AttentionPart::make_queries(const LayerStep& step, Graph::Project what,
                                         const float* x) const {
  const kvcache::LayerShape& shape = sizes().attention;
  const Workspace& work = step.work;
  const bool only_queries = what == Graph::Project::queries;
  Projection all[4] = {q_.into(work.q), k_.into(work.k), v_.into(work.v)};
  std::size_t n_all = only_queries ? 1 : sizes().values_are_keys ? 2 : 3;
  if (gate_ != nullptr) all[n_all++] = {gate_, work.attention_gate};
  SATCHEL_TRY(step.go_on());
  SATCHEL_TRY(project(step, x, std::span(all).first(n_all)));
  if (!only_queries) SATCHEL_TRY(finish_values(step));
  if (style_.qk_norm != QkNorm::none) {
    SATCHEL_TRY(step.go_on());
    SATCHEL_TRY(norm(step, q_, shape.n_heads, work.q));
    if (!only_queries) SATCHEL_TRY(norm(step, k_, shape.n_kv_heads, work.k));
  }
  if (sizes().rotated_scale == 1) return {};
  return backend_.scale_first(work.q, sizes().rotated_scale, step.batch.n_tokens * shape.n_heads,
                              shape.head_dim, shape.n_rotated());
}

// Before keys are normed: K = V are both what the projection gives.
Result<void> AttentionPart::finish_values(const LayerStep& step) const {
  const Workspace& work = step.work;
  if (sizes().values_are_keys)
    SATCHEL_TRY(backend_.copy(reinterpret_cast<std::byte*>(work.v),
                              reinterpret_cast<const std::byte*>(work.k),
                              step.batch.n_tokens * sizes().kv_width() * sizeof(float)));
  if (!style_.has_value_norm) return {};
  return norm(step, v_, sizes().attention.n_kv_heads, work.v);
}

Result<void> AttentionPart::norm(const LayerStep& step, const Operand& operand, std::size_t n_heads,
                                 float* rows) const {
  const std::size_t head_dim = sizes().attention.head_dim, n = step.batch.n_tokens;
  const bool of_heads = style_.qk_norm == QkNorm::of_heads;
  return backend_.rms_norm(rows, operand.gain, of_heads ? n * n_heads : n,
                           of_heads ? head_dim : n_heads * head_dim, config_.norm_epsilon, rows);
}

Result<void> AttentionPart::add_attended(const LayerStep& step, float* x) const {
  const float* attended = step.work.attended;
  SATCHEL_TRY(step.go_on());
  if (gate_ != nullptr) {
    SATCHEL_TRY(backend_.glu(kernels::Activation::sigmoid, step.work.attention_gate, attended,
                             step.batch.n_tokens * sizes().q_width()));
    attended = step.work.attention_gate;
  }
  return add_product(step, attended, out_, out_bias_, x);
}

}  // namespace satchel::runtime
