// Factors of the Granite models: of embeddings, of attention (in place of 1 / sqrt(head_dim)), of
// what each half of a layer adds; and a divisor of logits.
//   source  huggingface.co/ibm-granite, model cards; arXiv:2203.03466 (muP, where the factors
//           come from)
#pragma once

#include "runtime/model/hyperparameters.h"

namespace satchel::runtime {

inline Result<void> read_granite_factors(const Hyperparameters& of, ModelConfig& config) {
  SATCHEL_TRY_ASSIGN(config.embedding_scale, of.number_above(0, "embedding_scale", 1.0f));
  SATCHEL_TRY_ASSIGN(config.residual_scale, of.number_above(0, "residual_scale", 1.0f));
  SATCHEL_TRY_ASSIGN(const float divisor, of.number_above(0, "logit_scale", 1.0f));
  config.logit_scale = 1 / divisor;
  const float usual = config.layers[0].attention.attention_scale;
  SATCHEL_TRY_ASSIGN(const float scale, of.number_above(0, "attention.scale", usual));
  for (LayerConfig& layer : config.layers) layer.attention.attention_scale = scale;
  return {};
}

}  // namespace satchel::runtime
