// Mamba2Part: Mamba-2 in place of attention (Granite 4 H): one projection of the normed tokens
// gives the gate, the rows of a short convolution and a step of each head; what the state space
// makes of them is projected back.
//   state  as kernels::Mamba2Args has it: LayerConfig::n_state values
#pragma once

#include <span>
#include <vector>

#include "runtime/model/parts/layer_part.h"

namespace satchel::runtime {

class Mamba2Part : public LayerPart {
 public:
  using LayerPart::LayerPart;

  // Into the object, which stays where it is until the weights are loaded.
  void spec(std::vector<TensorSpec>& specs);
  // x += out · mamba2(projections of norm(x))
  Result<void> add(const LayerStep& step, std::span<const kernels::StateSequence> sequences,
                   float* x) const;

 private:
  void spec_of_projections(std::vector<TensorSpec>& specs);
  void spec_of_vectors(std::vector<TensorSpec>& specs);

  const kernels::Weight* gate_ = nullptr;               // [width(), width of the model]
  const kernels::Weight* rows_ = nullptr;               // [n_channels(), the same]
  const kernels::Weight* step_ = nullptr;               // [n_heads, the same]
  const kernels::Weight* out_ = nullptr;                // [width of the model, width()]
  const float* taps_ = nullptr;                         // [n_channels(), n_taps]
  const float* conv_bias_ = nullptr;                    // [n_channels()]; null: none
  const float *rate_ = nullptr, *step_bias_ = nullptr;  // [n_heads]
  const float* skip_ = nullptr;                         // the same
  const float* gain_ = nullptr;                         // [width()]
};

}  // namespace satchel::runtime
