#include "runtime/model/parts/feed_forward_part.h"

#include <array>
#include <cmath>

#include "kernels/base/assert.h"

namespace satchel::runtime {

using Projection = kernels::Backend::Projection;

void FeedForwardPart::spec(std::vector<TensorSpec>& specs) {
  if (!sizes().has_ffn()) return;
  using FfnNorm = BlockStyle::FfnNorm;
  spec_of_norms(style_.ffn_norm == FfnNorm::ffn              ? "ffn_norm.weight"
                : style_.ffn_norm == FfnNorm::post_attention ? "post_attention_norm.weight"
                                                             : "attn_norm.weight",
                "post_ffw_norm.weight", specs);
  if (sizes().n_experts == 0) return spec_of_glu(sizes().ffn_width, specs);
  spec_of_moe(specs);
  if (sizes().ffn_beside != 0) spec_of_both(specs);
  if (sizes().ffn_shared != 0) spec_of_shared(specs);
}

void FeedForwardPart::spec_of_shared(std::vector<TensorSpec>& specs) {
  const std::size_t width = config_.width, ffn = sizes().ffn_shared;
  if (style_.has_shared_router)
    specs.push_back(matrix("ffn_gate_inp_shexp.weight", 1, width, shared_router_));
  if (has_gate()) specs.push_back(matrix("ffn_gate_shexp.weight", ffn, width, glu_.gate));
  specs.push_back(matrix("ffn_up_shexp.weight", ffn, width, glu_.up));
  specs.push_back(matrix("ffn_down_shexp.weight", width, ffn, glu_.down));
}

void FeedForwardPart::spec_of_both(std::vector<TensorSpec>& specs) {
  const std::size_t width = config_.width;
  spec_of_glu(sizes().ffn_beside, specs);
  specs.push_back(vector("pre_ffw_norm_2.weight", width, expert_gain_));
  specs.push_back(vector("post_ffw_norm_1.weight", width, glu_gain_));
  specs.push_back(vector("post_ffw_norm_2.weight", width, sum_gain_));
  specs.push_back(vector("ffn_gate_inp.scale", width, router_gain_));
  specs.back().factor = static_cast<float>(1 / std::sqrt(static_cast<double>(width)));
  specs.push_back(known(kExpertFactorsTensor));
}

void FeedForwardPart::spec_of_glu(std::size_t ffn, std::vector<TensorSpec>& specs) {
  const std::size_t width = config_.width;
  const TensorSpec up = matrix("ffn_up.weight", ffn, width, glu_.up);
  if (style_.is_fused) {
    specs.push_back(part_of(matrix("ffn_up.weight", ffn, width, glu_.gate), 0, 2 * ffn));
    specs.push_back(part_of(up, ffn, 2 * ffn));
  } else {
    if (has_gate()) specs.push_back(matrix("ffn_gate.weight", ffn, width, glu_.gate));
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
  if (!sizes().choice_biases.empty()) specs.push_back(known(kChoiceBiasesTensor));
  if (sizes().experts_are_fused) return spec_of_fused_experts(specs);
  const auto one = [&](std::size_t i, const char* name, std::size_t n_out, std::size_t n_in,
                       const kernels::Weight*& to) {
    specs.push_back(part_of(matrix(name, n_out, n_in, to), i * n_out, n * n_out));
  };
  const auto bias = [&](std::size_t i, const char* name, std::size_t n_out, const float*& to) {
    specs.push_back(part_of(vector(name, n_out, to), i, n));
    specs.back().is_optional = true;
  };
  for (std::size_t i = 0; i < n; ++i) {
    if (has_gate()) one(i, "ffn_gate_exps.weight", ffn, width, experts_[i].gate);
    one(i, "ffn_up_exps.weight", ffn, width, experts_[i].up);
    one(i, "ffn_down_exps.weight", width, ffn, experts_[i].down);
    bias(i, "ffn_gate_exps.bias", ffn, experts_[i].gate_bias);
    bias(i, "ffn_up_exps.bias", ffn, experts_[i].up_bias);
    bias(i, "ffn_down_exps.bias", width, experts_[i].down_bias);
  }
}

// Of each expert, rows of its gate, then of its up.
void FeedForwardPart::spec_of_fused_experts(std::vector<TensorSpec>& specs) {
  const std::size_t width = config_.width, ffn = sizes().ffn_width, n = sizes().n_experts;
  for (std::size_t i = 0; i < n; ++i) {
    const auto half = [&](std::size_t which, const kernels::Weight*& to) {
      specs.push_back(part_of(matrix("ffn_gate_up_exps.weight", ffn, width, to),
                              (2 * i + which) * ffn, 2 * n * ffn));
    };
    half(0, experts_[i].gate);
    half(1, experts_[i].up);
    specs.push_back(part_of(matrix("ffn_down_exps.weight", width, ffn, experts_[i].down), i * width,
                            n * width));
  }
}

Result<void> FeedForwardPart::add(const LayerStep& step, float* x, ExpertChoice& choice) const {
  SATCHEL_TRY(step.go_on());
  if (!sizes().has_ffn()) return {};
  if (experts_.empty()) return add_glu(step, x);
  if (sizes().ffn_shared != 0) return add_with_shared(step, x, choice);
  return sizes().ffn_beside == 0 ? add_experts(step, x, choice) : add_both(step, x, choice);
}

// The usual layer is one operation of the backend.
Result<void> FeedForwardPart::add_glu(const LayerStep& step, float* x) const {
  const Workspace& work = step.work;
  const std::size_t n = step.batch.n_tokens;
  if (has_gate() && gain_before_ != nullptr && gain_behind_ == nullptr &&
      config_.residual_scale == 1)
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
  SATCHEL_TRY(make_glu(step, x, sizes().ffn_width));
  return add_to(step, x);
}

Result<void> FeedForwardPart::make_glu(const LayerStep& step, const float* x,
                                       std::size_t ffn_width) const {
  SATCHEL_TRY(make_inner(step, x, ffn_width));
  return backend_.matmul(*glu_.down, step.work.gate, step.batch.n_tokens, step.work.normed);
}

Result<void> FeedForwardPart::make_inner(const LayerStep& step, const float* x,
                                         std::size_t ffn_width) const {
  const Workspace& work = step.work;
  float* const up_out = has_gate() ? work.up : work.gate;
  std::array<Projection, 3> in = {{{glu_.up, up_out}}};
  std::size_t n_in = 1;
  if (has_gate()) in[n_in++] = {glu_.gate, work.gate};
  if (shared_router_ != nullptr) in[n_in++] = {shared_router_, work.routed};
  SATCHEL_TRY(project(step, x, std::span(in).first(n_in)));
  SATCHEL_TRY(step.go_on());
  return backend_.glu(style_.activation, work.gate, up_out, step.batch.n_tokens * ffn_width);
}

// Both read x; each has a norm behind, and their sum another.
Result<void> FeedForwardPart::add_both(const LayerStep& step, float* x,
                                       ExpertChoice& choice) const {
  const Workspace& work = step.work;
  const std::size_t n = step.batch.n_tokens, width = config_.width;
  const auto normed = [&](const float* from, const float* gain, float* to) {
    return backend_.rms_norm(from, gain, n, width, config_.norm_epsilon, to);
  };
  SATCHEL_TRY(make_glu(step, x, sizes().ffn_beside));
  SATCHEL_TRY(normed(work.normed, glu_gain_, work.beside));
  SATCHEL_TRY(step.go_on());
  SATCHEL_TRY(add_experts(step, x, choice));
  SATCHEL_TRY(normed(work.sum, sum_gain_, work.normed));
  SATCHEL_TRY(backend_.add(work.normed, work.beside, n * width));
  return add_to(step, x);
}

// x += factor · (experts(n) + sigmoid(router · n) · feed_forward(n)), n = norm(x); without a router
// all that feed_forward gives.
Result<void> FeedForwardPart::add_with_shared(const LayerStep& step, float* x,
                                              ExpertChoice& choice) const {
  const Workspace& work = step.work;
  const std::size_t n = step.batch.n_tokens, width = config_.width;
  SATCHEL_TRY(make_inner(step, x, sizes().ffn_shared));
  SATCHEL_TRY(backend_.matmul(*glu_.down, work.gate, n, work.beside));
  if (shared_router_ != nullptr)
    SATCHEL_TRY(backend_.gate_rows(work.beside, work.routed, n, width));
  if (config_.residual_scale != 1)
    SATCHEL_TRY(backend_.scale(work.beside, config_.residual_scale, n * width));
  SATCHEL_TRY(step.go_on());
  SATCHEL_TRY(add_experts(step, x, choice));
  return backend_.add(x, work.beside, n * width);
}

Result<void> FeedForwardPart::add_experts(const LayerStep& step, float* x,
                                          ExpertChoice& choice) const {
  const bool is_beside = sizes().ffn_beside != 0;
  SATCHEL_ASSERT(gain_before_ != nullptr && (is_beside || gain_behind_ == nullptr));
  const Workspace& work = step.work;
  const std::size_t n = step.batch.n_tokens;
  const auto grow = [](auto& work_of, std::size_t size) {
    if (work_of.size() < size) work_of.resize(size);
  };
  grow(choice.chosen, n * sizes().n_experts_used);
  if (sizes().expert_weighting != kernels::Backend::Weighting::softmax)
    grow(choice.scores, n * sizes().n_experts);
  return backend_.moe({.gain = is_beside ? expert_gain_ : gain_before_,
                       .router_gain = router_gain_,
                       .router = router_,
                       .router_bias = router_bias_,
                       .experts = experts_,
                       .expert_factors = sizes().expert_factors,
                       .weighting = sizes().expert_weighting,
                       .choice_biases = sizes().choice_biases,
                       .n_used = sizes().n_experts_used,
                       .factor = (is_beside ? 1 : config_.residual_scale) * sizes().expert_scale,
                       .sum = is_beside ? work.sum : nullptr,
                       .activation = style_.activation,
                       .epsilon = config_.norm_epsilon,
                       .normed = work.normed,
                       .taken = work.taken,
                       .gate_out = work.gate,
                       .up_out = work.up,
                       .routed = work.routed,
                       .chosen = choice.chosen,
                       .scores = choice.scores},
                      x, n);
}

}  // namespace satchel::runtime
