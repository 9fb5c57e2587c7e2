// What Gemma 2 and 3 scale attention by: what the file says, else 1 / sqrt(head_dim). The 27B
// models alone scale by 1 / sqrt(width / n_heads); files do not say so, the depth does.
//   errors   those of Hyperparameters
#pragma once

#include <cmath>

#include "runtime/model/hyperparameters.h"

namespace satchel::runtime {

// config: as Hyperparameters::sizes() gives it.
inline Result<float> gemma_attention_scale(const Hyperparameters& of, const ModelConfig& config,
                                           std::size_t layers_of_27b) {
  const kvcache::LayerShape& shape = config.layers[0].attention;
  float usual = shape.attention_scale;
  if (config.n_layers() == layers_of_27b)
    usual = static_cast<float>(
        std::sqrt(static_cast<double>(shape.n_heads) / static_cast<double>(config.width)));
  return of.number_above(0, "attention.scale", usual);
}

}  // namespace satchel::runtime
