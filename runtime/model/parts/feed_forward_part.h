// FeedForwardPart: the second half of a layer: one feed-forward, gated or not (Nemotron-H), or
// experts of which each token uses a few, or both side by side (Gemma 4; as one that all tokens
// share: Qwen 3.5, with a gate, and DeepSeek-V2).
#pragma once

#include <vector>

#include "runtime/model/parts/layer_part.h"

namespace satchel::runtime {

// What tokens choose among experts: lent to one step at a time, grown to what is needed.
struct ExpertChoice {
  std::vector<kernels::Backend::Ranked> chosen;
  std::vector<float> scores;
};

class FeedForwardPart : public LayerPart {
 public:
  FeedForwardPart(kernels::Backend& backend, const ModelConfig& config, const BlockStyle& style,
                  std::size_t layer)
      : LayerPart(backend, config, style, layer, config.layers[layer].ffn_block) {}

  // Into the object, which stays where it is until the weights are loaded.
  void spec(std::vector<TensorSpec>& specs);
  // x += feed_forward(x)
  Result<void> add(const LayerStep& step, float* x, ExpertChoice& choice) const;

 private:
  void spec_of_glu(std::size_t ffn_width, std::vector<TensorSpec>& specs);
  void spec_of_moe(std::vector<TensorSpec>& specs);
  void spec_of_fused_experts(std::vector<TensorSpec>& specs);
  void spec_of_both(std::vector<TensorSpec>& specs);
  void spec_of_shared(std::vector<TensorSpec>& specs);
  bool has_gate() const { return style_.activation != kernels::Activation::relu; }
  // work.gate = activation(gate · norm(x), up · norm(x)); what a router gives in work.routed
  Result<void> make_inner(const LayerStep& step, const float* x, std::size_t ffn_width) const;
  // work.normed = feed_forward(x)
  Result<void> make_glu(const LayerStep& step, const float* x, std::size_t ffn_width) const;
  Result<void> add_both(const LayerStep& step, float* x, ExpertChoice& choice) const;
  Result<void> add_with_shared(const LayerStep& step, float* x, ExpertChoice& choice) const;
  Result<void> add_glu(const LayerStep& step, float* x) const;
  Result<void> add_experts(const LayerStep& step, float* x, ExpertChoice& choice) const;

  kernels::Backend::Expert glu_;             // gate (null: none), up [ffn_width, width], down
  const kernels::Weight* router_ = nullptr;  // [n_experts, width]
  const float* router_bias_ = nullptr;       // [n_experts]; null: none
  // [1, width]: how much of what all share is used; null: all of it
  const kernels::Weight* shared_router_ = nullptr;
  std::vector<kernels::Backend::Expert> experts_;  // none: glu_
  // Where both are side by side: of what the experts and the router are given, and of what
  // feed-forward and experts give back.
  const float *expert_gain_ = nullptr, *router_gain_ = nullptr;  // [width]
  const float *glu_gain_ = nullptr, *sum_gain_ = nullptr;
};

}  // namespace satchel::runtime
