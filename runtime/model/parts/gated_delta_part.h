// GatedDeltaPart: Gated DeltaNet in place of attention (Qwen 3.5): projections of the normed tokens
// go through a short convolution and the gated delta rule, and are projected back.
//   state  as kernels::GatedDeltaArgs has it: LayerConfig::n_state values
#pragma once

#include <span>
#include <vector>

#include "runtime/model/parts/layer_part.h"

namespace satchel::runtime {

class GatedDeltaPart : public LayerPart {
 public:
  using LayerPart::LayerPart;

  // Into the object, which stays where it is until the weights are loaded.
  void spec(std::vector<TensorSpec>& specs);
  // x += out · gated_delta(projections of norm(x))
  Result<void> add(const LayerStep& step, std::span<const kernels::StateSequence> sequences,
                   float* x) const;

 private:
  void spec_of_numbers(std::vector<TensorSpec>& specs);

  const kernels::Weight* rows_ = nullptr;                // [n_channels(), width]
  const kernels::Weight* gate_ = nullptr;                // [value_width(), width]
  const kernels::Weight* decay_ = nullptr;               // [n_value_heads, width]
  const kernels::Weight* strength_ = nullptr;            // the same
  const kernels::Weight* out_ = nullptr;                 // [width, value_width()]
  const float* taps_ = nullptr;                          // [n_channels(), n_taps]
  const float *rate_ = nullptr, *decay_bias_ = nullptr;  // [n_value_heads]
  const float* gain_ = nullptr;                          // [value_dim]
};

}  // namespace satchel::runtime
