// Layers behind the model's that draft tokens (MTP), which are not used.
#pragma once

#include "runtime/model/hyperparameters.h"

namespace satchel::runtime {

inline Result<void> read_draft_layers(const Hyperparameters& of, ModelConfig& config) {
  SATCHEL_TRY_ASSIGN(config.n_draft_layers,
                     of.count_or_none("nextn_predict_layers", config.n_layers() - 1));
  config.layers.resize(config.n_layers() - config.n_draft_layers);
  return {};
}

}  // namespace satchel::runtime
