// Experts, and where the file says so, one beside them that all tokens share.
#pragma once

#include "runtime/model/hyperparameters.h"

namespace satchel::runtime {

inline Result<void> read_experts_and_shared(const Hyperparameters& of, ModelConfig& config,
                                            kernels::Backend::Weighting weighting) {
  SATCHEL_TRY(of.read_experts(config, weighting));
  SATCHEL_TRY_ASSIGN(const std::size_t shared,
                     of.count_or_none("expert_shared_feed_forward_length", std::size_t{1} << 20));
  for (LayerConfig& layer : config.layers)
    if (layer.n_experts != 0) layer.ffn_shared = shared;
  return {};
}

}  // namespace satchel::runtime
