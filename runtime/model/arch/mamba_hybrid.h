// Layers of Mamba-2 in hybrids: a layer without KV heads is one.
//   source  arXiv:2405.21060; keys as llama.cpp's converter names them
#pragma once

#include "runtime/model/hyperparameters.h"

namespace satchel::runtime {

inline constexpr std::size_t kMambaHeadsMost = 4096;  // chosen: sixteen times those of known models

inline Result<MambaConfig> read_mamba(const Hyperparameters& of) {
  MambaConfig mamba;
  SATCHEL_TRY_ASSIGN(mamba.n_taps, of.count("ssm.conv_kernel", kernels::kTapsMax));
  SATCHEL_TRY_ASSIGN(mamba.state_dim, of.count("ssm.state_size", kernels::kStateDimMax));
  SATCHEL_TRY_ASSIGN(mamba.n_heads, of.count("ssm.time_step_rank", kMambaHeadsMost));
  SATCHEL_TRY_ASSIGN(mamba.n_groups, of.count("ssm.group_count", mamba.n_heads));
  SATCHEL_TRY_ASSIGN(const std::size_t width,
                     of.count("ssm.inner_size", kMambaHeadsMost * kernels::kStateDimMax));
  mamba.head_dim = width / mamba.n_heads;
  if (mamba.n_taps < 2) return of.unfit("ssm.conv_kernel", "must be at least 2.");
  if (mamba.n_heads % mamba.n_groups != 0)
    return of.unfit("ssm.group_count",
                    "does not divide the " + std::to_string(mamba.n_heads) + " heads.");
  if (width % mamba.n_heads != 0 || mamba.head_dim > kernels::kStateDimMax)
    return of.unfit("ssm.inner_size", "must give each of the " + std::to_string(mamba.n_heads) +
                                          " heads 1 to " + std::to_string(kernels::kStateDimMax) +
                                          " values.");
  if (mamba.n_state() > kvcache::kStateValuesMax)
    return of.unfit("ssm.inner_size", "makes a layer's state larger than is supported.");
  return mamba;
}

inline Result<void> read_mamba_layers(const Hyperparameters& of, ModelConfig& config) {
  SATCHEL_TRY_ASSIGN(const MambaConfig mamba, read_mamba(of));
  std::size_t n_attention = 0;
  for (LayerConfig& layer : config.layers) {
    n_attention += layer.attention.n_kv_heads > 0 ? 1u : 0u;
    if (layer.attention.n_kv_heads != 0) continue;
    layer.attention = {};
    layer.mamba = mamba;
    layer.n_state = mamba.n_state();
    layer.n_state_tail = mamba.n_tail();
  }
  if (n_attention == 0) return of.unfit("attention.head_count_kv", "leaves no layer attention.");
  return {};
}

}  // namespace satchel::runtime
