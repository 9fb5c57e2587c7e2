// ShortConvPart: a gated short convolution in place of attention (LFM2): one projection gives three
// rows of each token, a causal convolution of two of them is gated by the third and projected back.
//   state  as kernels::ShortConvArgs has it: LayerConfig::n_state values
#pragma once

#include <span>
#include <vector>

#include "runtime/model/parts/layer_part.h"

namespace satchel::runtime {

class ShortConvPart : public LayerPart {
 public:
  using LayerPart::LayerPart;

  // Into the object, which stays where it is until the weights are loaded.
  void spec(std::vector<TensorSpec>& specs);
  // x += out · convolution(in · norm(x))
  Result<void> add(const LayerStep& step, std::span<const kernels::StateSequence> sequences,
                   float* x) const;

 private:
  const kernels::Weight* in_ = nullptr;   // [3 · width, width]
  const kernels::Weight* out_ = nullptr;  // [width, width]
  const float* taps_ = nullptr;           // [width, conv_taps]
};

}  // namespace satchel::runtime
