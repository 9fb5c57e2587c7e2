// FeedForwardPart: the second half of a layer: one gated feed-forward, or experts of which each
// token uses a few.
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
  void spec_of_glu(std::vector<TensorSpec>& specs);
  void spec_of_moe(std::vector<TensorSpec>& specs);
  Result<void> add_glu(const LayerStep& step, float* x) const;
  Result<void> add_experts(const LayerStep& step, float* x,
                           std::vector<kernels::Backend::Ranked>& chosen) const;

  kernels::Backend::Expert glu_;                   // gate, up [ffn_width, width], down
  const kernels::Weight* router_ = nullptr;        // [n_experts, width]
  const float* router_bias_ = nullptr;             // [n_experts]; null: none
  std::vector<kernels::Backend::Expert> experts_;  // none: gated_
};

}  // namespace satchel::runtime
