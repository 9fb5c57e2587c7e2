// PerLayerPart: what a layer is given of each token anew (Gemma 4's E models): a row of a table
// that belongs to token and layer, and a projection of the token's embedding, through a gate that
// the hidden state opens.
//   given   (norm(projection · e) + row · sqrt(per_layer_width)) / sqrt(2), with e the embedding as
//           the table has it: the model's sqrt(width) and the projection's 1 / sqrt(width) cancel
//   made    anew in each layer, of the ids: kept for a whole text it would be many times as wide as
//           the hidden states
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/model/parts/layer_part.h"

namespace satchel::runtime {

// Of all layers together.
struct PerLayerTables {
  const kernels::Weight* rows = nullptr;  // [n_vocabulary · n_layers, per_layer_width]
  const float* gain = nullptr;            // [per_layer_width], of the projection, by sqrt(2)

  // Into the object, which stays where it is until the weights are loaded.
  void spec(const ModelConfig& config, std::vector<TensorSpec>& specs);
};

class PerLayerPart : public LayerPart {
 public:
  using LayerPart::LayerPart;

  void spec(std::vector<TensorSpec>& specs);
  // x += norm(out · (gelu(gate · x) · given)). `rows` is lent.
  Result<void> add(const LayerStep& step, const kernels::Weight& embedding,
                   const PerLayerTables& tables, std::vector<std::int32_t>& rows, float* x) const;

 private:
  // work.given
  Result<void> give(const LayerStep& step, const kernels::Weight& embedding,
                    const PerLayerTables& tables, std::vector<std::int32_t>& rows) const;

  const kernels::Weight* projection_ = nullptr;  // [per_layer_width, width]
  const kernels::Weight* gate_ = nullptr;        // likewise
  const kernels::Weight* out_ = nullptr;         // [width, per_layer_width]
};

}  // namespace satchel::runtime
