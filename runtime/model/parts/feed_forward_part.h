// FeedForwardPart: the second half of a layer: one gated feed-forward, or experts of which each
// token uses a few, or both side by side (Gemma 4; as one that all tokens share: Qwen 3.5).
#pragma once

#include <vector>

#include "runtime/model/parts/layer_part.h"

namespace satchel::runtime {

class FeedForwardPart : public LayerPart {
 public:
  using LayerPart::LayerPart;

  // Into the object, which stays where it is until the weights are loaded.
  void spec(std::vector<TensorSpec>& specs);
  // x += feed_forward(x). `chosen` is lent: what tokens choose, grown to what is needed.
  Result<void> add(const LayerStep& step, float* x,
                   std::vector<kernels::Backend::Ranked>& chosen) const;

 private:
  void spec_of_glu(std::size_t ffn_width, std::vector<TensorSpec>& specs);
  void spec_of_moe(std::vector<TensorSpec>& specs);
  void spec_of_fused_experts(std::vector<TensorSpec>& specs);
  void spec_of_both(std::vector<TensorSpec>& specs);
  void spec_of_shared(std::vector<TensorSpec>& specs);
  // work.normed = feed_forward(x)
  Result<void> make_glu(const LayerStep& step, const float* x, std::size_t ffn_width) const;
  Result<void> add_both(const LayerStep& step, float* x,
                        std::vector<kernels::Backend::Ranked>& chosen) const;
  Result<void> add_with_shared(const LayerStep& step, float* x,
                               std::vector<kernels::Backend::Ranked>& chosen) const;
  Result<void> add_glu(const LayerStep& step, float* x) const;
  Result<void> add_experts(const LayerStep& step, float* x,
                           std::vector<kernels::Backend::Ranked>& chosen) const;

  kernels::Backend::Expert glu_;                    // gate, up [ffn_width, width], down
  const kernels::Weight* router_ = nullptr;         // [n_experts, width]
  const float* router_bias_ = nullptr;              // [n_experts]; null: none
  const kernels::Weight* shared_router_ = nullptr;  // [1, width]: how much of what all share
  std::vector<kernels::Backend::Expert> experts_;   // none: gated_
  // Where both are side by side: of what the experts and the router are given, and of what
  // feed-forward and experts give back.
  const float *expert_gain_ = nullptr, *router_gain_ = nullptr;  // [width]
  const float *glu_gain_ = nullptr, *sum_gain_ = nullptr;
};

}  // namespace satchel::runtime
