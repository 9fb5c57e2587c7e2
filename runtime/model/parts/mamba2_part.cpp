#include "runtime/model/parts/mamba2_part.h"

namespace satchel::runtime {

using Projection = kernels::Backend::Projection;

void Mamba2Part::spec(std::vector<TensorSpec>& specs) {
  spec_of_norms("attn_norm.weight", "post_attention_norm.weight", specs);
  spec_of_projections(specs);
  spec_of_vectors(specs);
  specs.push_back(matrix("ssm_out.weight", config_.width, sizes().mamba.width(), out_));
}

// One tensor: rows of the gate, of the convolution, of the steps.
void Mamba2Part::spec_of_projections(std::vector<TensorSpec>& specs) {
  const MambaConfig& mamba = sizes().mamba;
  const std::size_t first = mamba.width(), last = first + mamba.n_channels();
  const auto rows = [&](std::size_t first_row, std::size_t n, const kernels::Weight*& to) {
    specs.push_back(
        part_of(matrix("ssm_in.weight", n, config_.width, to), first_row, last + mamba.n_heads));
  };
  rows(0, mamba.width(), gate_);
  rows(first, mamba.n_channels(), rows_);
  rows(last, mamba.n_heads, step_);
}

// Numbers of heads, and gains of groups, are rows.
void Mamba2Part::spec_of_vectors(std::vector<TensorSpec>& specs) {
  const MambaConfig& mamba = sizes().mamba;
  const auto rows = [&](const char* name, std::size_t n_rows, std::size_t n, const float*& to) {
    specs.push_back(vector(name, n, to));
    specs.back().n_out = n_rows;
  };
  rows("ssm_conv1d.weight", mamba.n_channels(), mamba.n_taps, taps_);
  specs.push_back(vector("ssm_conv1d.bias", mamba.n_channels(), conv_bias_));
  specs.back().is_optional = true;
  rows("ssm_a", mamba.n_heads, 1, rate_);
  rows("ssm_d", mamba.n_heads, 1, skip_);
  specs.push_back(vector("ssm_dt.bias", mamba.n_heads, step_bias_));
  rows("ssm_norm.weight", mamba.n_groups, mamba.width() / mamba.n_groups, gain_);
}

Result<void> Mamba2Part::add(const LayerStep& step,
                             std::span<const kernels::StateSequence> sequences, float* x) const {
  const MambaConfig& mamba = sizes().mamba;
  const Workspace& work = step.work;
  const Projection in[] = {
      {gate_, work.recurrent_gate}, {rows_, work.conv_rows}, {step_, work.recurrent_step}};
  SATCHEL_TRY(step.go_on());
  SATCHEL_TRY(project(step, x, in));
  SATCHEL_TRY(step.go_on());
  SATCHEL_TRY(backend_.mamba2({.rows = work.conv_rows,
                               .taps = taps_,
                               .conv_bias = conv_bias_,
                               .n_taps = mamba.n_taps,
                               .n_heads = mamba.n_heads,
                               .n_groups = mamba.n_groups,
                               .head_dim = mamba.head_dim,
                               .state_dim = mamba.state_dim,
                               .step = work.recurrent_step,
                               .rate = rate_,
                               .step_bias = step_bias_,
                               .skip = skip_,
                               .gate = work.recurrent_gate,
                               .gain = gain_,
                               .epsilon = config_.norm_epsilon,
                               .sequences = sequences,
                               .convolved = work.convolved,
                               .out = work.recurrent_out}));
  return add_product(step, work.recurrent_out, out_, nullptr, x);
}

}  // namespace satchel::runtime
