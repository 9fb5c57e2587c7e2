// Nemotron-H and what follows it: each block of the file has one part only, Mamba-2, attention
// without RoPE or a feed-forward without a gate, whose ReLU is squared. A feed-forward's block and
// the one before it are one layer here.
//   source  arXiv:2504.03624; transformers' models/nemotron_h; tensors as llama.cpp's converter
//           names them
#pragma once

#include <utility>
#include <vector>

#include "runtime/model/arch/draft_layers.h"
#include "runtime/model/arch/mamba_hybrid.h"
#include "runtime/model/block_graph.h"

namespace satchel::runtime {

inline constexpr BlockStyle kNemotronStyle{.ffn_norm = BlockStyle::FfnNorm::attention,
                                           .activation = kernels::Activation::relu,
                                           .has_shared_router = false};

inline Result<void> join_feed_forwards(const Hyperparameters& of, ModelConfig& config) {
  std::vector<LayerConfig> layers;
  for (LayerConfig& block : config.layers) {
    if (!block.has_ffn()) {
      layers.push_back(std::move(block));
      continue;
    }
    const bool has_place = !layers.empty() && !layers.back().has_ffn();
    if (block.attention.n_kv_heads != 0 || !has_place)
      return of.unfit("feed_forward_length", "has a value for block " +
                                                 std::to_string(block.block) +
                                                 ", which must follow one of another part.");
    layers.back().ffn_width = block.ffn_width;
    layers.back().ffn_block = block.ffn_block;
  }
  config.layers = std::move(layers);
  return {};
}

// All but experts.
inline Result<ModelConfig> read_nemotron_hybrid(const Hyperparameters& of) {
  SATCHEL_TRY_ASSIGN(ModelConfig config, of.sizes_of_parts());
  SATCHEL_TRY(read_draft_layers(of, config));
  SATCHEL_TRY(join_feed_forwards(of, config));
  SATCHEL_TRY(read_mamba_layers(of, config));
  return config;
}

}  // namespace satchel::runtime
