#include "runtime/model/parts/gated_delta_part.h"

namespace satchel::runtime {

using Projection = kernels::Backend::Projection;

void GatedDeltaPart::spec(std::vector<TensorSpec>& specs) {
  const DeltaConfig& delta = sizes().delta;
  const std::size_t width = config_.width;
  spec_of_norms("attn_norm.weight", "post_attention_norm.weight", specs);
  specs.push_back(matrix("attn_qkv.weight", delta.n_channels(), width, rows_));
  specs.push_back(matrix("attn_gate.weight", delta.value_width(), width, gate_));
  spec_of_numbers(specs);
  specs.push_back(vector("ssm_conv1d.weight", delta.n_taps, taps_));
  specs.back().n_out = delta.n_channels();
  specs.push_back(vector("ssm_a", delta.n_value_heads, rate_));
  specs.push_back(vector("ssm_dt.bias", delta.n_value_heads, decay_bias_));
  specs.push_back(vector("ssm_norm.weight", delta.value_dim, gain_));
  specs.push_back(matrix("ssm_out.weight", width, delta.value_width(), out_));
}

// Two numbers of each value head. Qwen3-Next has them in one tensor: of each key head, the
// strengths of its value heads, then their decays.
void GatedDeltaPart::spec_of_numbers(std::vector<TensorSpec>& specs) {
  const DeltaConfig& delta = sizes().delta;
  const std::size_t n = delta.n_value_heads, of_key_head = n / delta.n_key_heads;
  if (delta.key_heads == kernels::GatedDeltaArgs::KeyHeads::tiled) {
    specs.push_back(matrix("ssm_alpha.weight", n, config_.width, decay_));
    specs.push_back(matrix("ssm_beta.weight", n, config_.width, strength_));
    return;
  }
  const auto half = [&](std::size_t first_row, const kernels::Weight*& to) {
    specs.push_back(blocks_of(matrix("ssm_ba.weight", n, config_.width, to), first_row, of_key_head,
                              2 * of_key_head));
  };
  half(0, strength_);
  half(of_key_head, decay_);
}

Result<void> GatedDeltaPart::add(const LayerStep& step,
                                 std::span<const kernels::StateSequence> sequences,
                                 float* x) const {
  const DeltaConfig& delta = sizes().delta;
  const Workspace& work = step.work;
  const Projection in[] = {{rows_, work.conv_rows},
                           {gate_, work.recurrent_gate},
                           {decay_, work.recurrent_step},
                           {strength_, work.delta_strength}};
  SATCHEL_TRY(step.go_on());
  SATCHEL_TRY(project(step, x, in));
  SATCHEL_TRY(step.go_on());
  SATCHEL_TRY(backend_.gated_delta({.rows = work.conv_rows,
                                    .taps = taps_,
                                    .n_taps = delta.n_taps,
                                    .n_key_heads = delta.n_key_heads,
                                    .n_value_heads = delta.n_value_heads,
                                    .key_dim = delta.key_dim,
                                    .value_dim = delta.value_dim,
                                    .key_heads = delta.key_heads,
                                    .decay = work.recurrent_step,
                                    .strength = work.delta_strength,
                                    .rate = rate_,
                                    .decay_bias = decay_bias_,
                                    .gate = work.recurrent_gate,
                                    .gain = gain_,
                                    .epsilon = config_.norm_epsilon,
                                    .sequences = sequences,
                                    .convolved = work.convolved,
                                    .out = work.recurrent_out}));
  return add_product(step, work.recurrent_out, out_, nullptr, x);
}

}  // namespace satchel::runtime
