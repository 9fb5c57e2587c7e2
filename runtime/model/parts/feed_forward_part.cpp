#include "runtime/model/parts/feed_forward_part.h"

#include "kernels/base/assert.h"

namespace satchel::runtime {

using Projection = kernels::Backend::Projection;

void FeedForwardPart::spec(std::vector<TensorSpec>& specs) {
  spec_of_norms(
      style_.ffn_norm_is_post_attention ? "post_attention_norm.weight" : "ffn_norm.weight",
      "post_ffw_norm.weight", specs);
  return sizes().n_experts == 0 ? spec_of_glu(specs) : spec_of_moe(specs);
}

void FeedForwardPart::spec_of_glu(std::vector<TensorSpec>& specs) {
  const std::size_t width = config_.width, ffn = sizes().ffn_width;
  const TensorSpec up = matrix("ffn_up.weight", ffn, width, glu_.up);
  if (style_.is_fused) {
    specs.push_back(part_of(matrix("ffn_up.weight", ffn, width, glu_.gate), 0, 2 * ffn));
    specs.push_back(part_of(up, ffn, 2 * ffn));
  } else {
    specs.push_back(matrix("ffn_gate.weight", ffn, width, glu_.gate));
    specs.push_back(up);
  }
  specs.push_back(matrix("ffn_down.weight", width, ffn, glu_.down));
}

void FeedForwardPart::spec_of_moe(std::vector<TensorSpec>& specs) {
  const std::size_t width = config_.width, ffn = sizes().ffn_width, n = sizes().n_experts;
  experts_.resize(n);
  specs.push_back(matrix("ffn_gate_inp.weight", n, width, router_));
  specs.push_back(vector("ffn_gate_inp.bias", n, router_bias_));
  specs.back().is_optional = true;
  const auto one = [&](std::size_t i, const char* name, std::size_t n_out, std::size_t n_in,
                       const kernels::Weight*& to) {
    specs.push_back(part_of(matrix(name, n_out, n_in, to), i * n_out, n * n_out));
  };
  const auto bias = [&](std::size_t i, const char* name, std::size_t n_out, const float*& to) {
    specs.push_back(part_of(vector(name, n_out, to), i, n));
    specs.back().is_optional = true;
  };
  for (std::size_t i = 0; i < n; ++i) {
    one(i, "ffn_gate_exps.weight", ffn, width, experts_[i].gate);
    one(i, "ffn_up_exps.weight", ffn, width, experts_[i].up);
    one(i, "ffn_down_exps.weight", width, ffn, experts_[i].down);
    bias(i, "ffn_gate_exps.bias", ffn, experts_[i].gate_bias);
    bias(i, "ffn_up_exps.bias", ffn, experts_[i].up_bias);
    bias(i, "ffn_down_exps.bias", width, experts_[i].down_bias);
  }
}

Result<void> FeedForwardPart::add(const LayerStep& step, float* x,
                                  std::vector<kernels::Backend::Ranked>& chosen) const {
  SATCHEL_TRY(step.go_on());
  return experts_.empty() ? add_glu(step, x) : add_experts(step, x, chosen);
}

// The usual layer is one operation of the backend.
Result<void> FeedForwardPart::add_glu(const LayerStep& step, float* x) const {
  const Workspace& work = step.work;
  const std::size_t n = step.batch.n_tokens;
  if (gain_before_ != nullptr && gain_behind_ == nullptr && config_.residual_scale == 1)
    return backend_.feed_forward({.gain = gain_before_,
                                  .gate = glu_.gate,
                                  .up = glu_.up,
                                  .down = glu_.down,
                                  .activation = style_.activation,
                                  .epsilon = config_.norm_epsilon,
                                  .normed = work.normed,
                                  .gate_out = work.gate,
                                  .up_out = work.up},
                                 x, n);
  const Projection up[] = {{glu_.gate, work.gate}, {glu_.up, work.up}};
  SATCHEL_TRY(project(step, x, up));
  SATCHEL_TRY(step.go_on());
  SATCHEL_TRY(backend_.glu(style_.activation, work.gate, work.up, n * sizes().ffn_width));
  SATCHEL_TRY(backend_.matmul(*glu_.down, work.gate, n, work.normed));
  return add_to(step, x);
}

Result<void> FeedForwardPart::add_experts(const LayerStep& step, float* x,
                                          std::vector<kernels::Backend::Ranked>& chosen) const {
  SATCHEL_ASSERT(gain_before_ != nullptr && gain_behind_ == nullptr);
  const Workspace& work = step.work;
  const std::size_t n_chosen = step.batch.n_tokens * sizes().n_experts_used;
  if (chosen.size() < n_chosen) chosen.resize(n_chosen);
  return backend_.moe({.gain = gain_before_,
                       .router = router_,
                       .router_bias = router_bias_,
                       .experts = experts_,
                       .n_used = sizes().n_experts_used,
                       .factor = config_.residual_scale,
                       .activation = style_.activation,
                       .epsilon = config_.norm_epsilon,
                       .normed = work.normed,
                       .taken = work.taken,
                       .gate_out = work.gate,
                       .up_out = work.up,
                       .routed = work.routed,
                       .chosen = chosen},
                      x, step.batch.n_tokens);
}

}  // namespace satchel::runtime
