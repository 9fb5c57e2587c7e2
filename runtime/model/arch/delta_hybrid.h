// What Qwen3-Next and Qwen 3.5 have in common: Gated DeltaNet in three of four layers, attention
// with a gated output in the others; layers behind these that draft tokens, which are not used.
//   mrope    positions of text are the same in all its sections: plain RoPE
//   source   arXiv:2412.06464; transformers' models/qwen3_next and models/qwen3_5; tensors and keys
//            as llama.cpp's converter names them
#pragma once

#include <vector>

#include "runtime/model/arch/draft_layers.h"
#include "runtime/model/block_graph.h"
#include "runtime/model/hyperparameters.h"
#include "runtime/model/rope_scaling.h"

namespace satchel::runtime {

inline constexpr BlockStyle kDeltaHybridStyle{.ffn_norm = BlockStyle::FfnNorm::post_attention,
                                              .qk_norm = BlockStyle::QkNorm::of_heads};
inline constexpr std::size_t kDeltaHeadsMost = 1024;  // chosen: ten times the most of known models

inline Result<DeltaConfig> read_delta(const Hyperparameters& of,
                                      kernels::GatedDeltaArgs::KeyHeads key_heads) {
  DeltaConfig delta{.key_heads = key_heads};
  SATCHEL_TRY_ASSIGN(delta.n_taps, of.count("ssm.conv_kernel", kernels::kTapsMax));
  SATCHEL_TRY_ASSIGN(delta.key_dim, of.count("ssm.state_size", kernels::kStateDimMax));
  SATCHEL_TRY_ASSIGN(delta.n_key_heads, of.count("ssm.group_count", kDeltaHeadsMost));
  SATCHEL_TRY_ASSIGN(delta.n_value_heads, of.count("ssm.time_step_rank", kDeltaHeadsMost));
  SATCHEL_TRY_ASSIGN(const std::size_t width,
                     of.count("ssm.inner_size", kDeltaHeadsMost * kernels::kStateDimMax));
  delta.value_dim = width / delta.n_value_heads;
  if (delta.n_taps < 2) return of.unfit("ssm.conv_kernel", "must be at least 2.");
  if (delta.n_value_heads % delta.n_key_heads != 0)
    return of.unfit("ssm.group_count",
                    "does not divide the " + std::to_string(delta.n_value_heads) + " value heads.");
  if (width % delta.n_value_heads != 0 || delta.value_dim > kernels::kStateDimMax)
    return of.unfit("ssm.inner_size",
                    "must give each of the " + std::to_string(delta.n_value_heads) +
                        " value heads 1 to " + std::to_string(kernels::kStateDimMax) + " values.");
  if (delta.n_state() > kvcache::kStateValuesMax)
    return of.unfit("ssm.inner_size", "makes a layer's state larger than is supported.");
  return delta;
}

// Of each layer of the file, whether it is recurrent.
inline Result<std::vector<bool>> recurrent_layers(const Hyperparameters& of, std::size_t n_layers) {
  constexpr const char* kList = "attention.recurrent_layers";
  if (of.has(kList)) {
    SATCHEL_TRY_ASSIGN(const std::vector<bool> listed, of.file().get_bool_array(of.key(kList)));
    if (listed.size() == n_layers) return listed;
    return of.unfit(kList,
                    "must have a value for each of the " + std::to_string(n_layers) + " layers.");
  }
  SATCHEL_TRY_ASSIGN(const std::size_t interval, of.count("full_attention_interval", n_layers, 4));
  std::vector<bool> are_recurrent(n_layers);
  for (std::size_t i = 0; i < n_layers; ++i) are_recurrent[i] = (i + 1) % interval != 0;
  return are_recurrent;
}

inline Result<void> read_shared_expert(const Hyperparameters& of, ModelConfig& config) {
  SATCHEL_TRY(of.read_experts(config));
  if (config.layers[0].n_experts == 0) return of.unfit("expert_count", "is missing.");
  SATCHEL_TRY_ASSIGN(const std::size_t shared,
                     of.count("expert_shared_feed_forward_length", std::size_t{1} << 20,
                              config.layers[0].ffn_width));
  // Converters may leave gate and up of the experts in one tensor, as they were trained.
  const bool are_fused = of.file().find_tensor("blk.0.ffn_gate_up_exps.weight") != nullptr;
  for (LayerConfig& layer : config.layers) {
    layer.ffn_shared = shared;
    layer.experts_are_fused = are_fused;
  }
  return {};
}

// All but experts.
inline Result<ModelConfig> read_delta_hybrid(const Hyperparameters& of,
                                             kernels::GatedDeltaArgs::KeyHeads key_heads) {
  SATCHEL_TRY_ASSIGN(ModelConfig config, of.sizes_of_hybrid());
  SATCHEL_TRY_ASSIGN(const DeltaConfig delta, read_delta(of, key_heads));
  SATCHEL_TRY_ASSIGN(const std::vector<bool> are_recurrent,
                     recurrent_layers(of, config.n_layers()));
  SATCHEL_TRY(read_rope(of, config, kernels::RopePairs::halves));
  SATCHEL_TRY(read_draft_layers(of, config));
  std::size_t n_attention = 0;
  for (std::size_t i = 0; i < config.n_layers(); ++i) {
    LayerConfig& layer = config.layers[i];
    layer.has_output_gate = !are_recurrent[i];
    n_attention += are_recurrent[i] ? 0u : 1u;
    if (!are_recurrent[i] && layer.attention.n_kv_heads == 0)
      return of.unfit("attention.head_count_kv",
                      "leaves layer " + std::to_string(i) + " of attention no heads.");
    if (!are_recurrent[i]) continue;
    layer.attention = {};
    layer.delta = delta;
    layer.n_state = delta.n_state();
    layer.n_state_tail = delta.n_tail();
  }
  if (n_attention == 0) return of.unfit("full_attention_interval", "leaves no layer attention.");
  return config;
}

// Every feed-forward is a choice of experts beside one that all tokens share, as far as the sigmoid
// of a number of the token says.
inline Result<ModelConfig> read_delta_hybrid_of_experts(
    const Hyperparameters& of, kernels::GatedDeltaArgs::KeyHeads key_heads) {
  SATCHEL_TRY_ASSIGN(ModelConfig config, read_delta_hybrid(of, key_heads));
  SATCHEL_TRY(read_shared_expert(of, config));
  return config;
}

}  // namespace satchel::runtime
