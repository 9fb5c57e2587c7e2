// What is added to experts' scores when a token chooses some of them, and to nothing else.
//   source  arXiv:2408.15664 (balance without a loss)
#pragma once

#include "runtime/model/arch/small_tensor.h"
#include "runtime/model/hyperparameters.h"
#include "runtime/model/parts/layer_part.h"

namespace satchel::runtime {

inline Result<void> read_choice_biases(const Hyperparameters& of, ModelConfig& config) {
  for (LayerConfig& layer : config.layers) {
    const bool has_some = has_tensor(of.file(), layer.ffn_block, kChoiceBiasesTensor);
    if (layer.n_experts == 0 || !has_some) continue;
    SATCHEL_TRY_ASSIGN(layer.choice_biases, small_tensor(of.file(), layer.ffn_block,
                                                         kChoiceBiasesTensor, layer.n_experts));
  }
  return {};
}

}  // namespace satchel::runtime
