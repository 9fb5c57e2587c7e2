// Gemma 4, text: layers with a sliding window, and in between some that see everything, which have
// longer heads and rotate a quarter of them. Norms of queries and keys, and of values without
// gains; queries are not scaled. Larger models make values of what keys are made of, and one has
// experts beside the feed-forward. The E models give each layer something of each token anew, and
// their last layers read the keys and values of the last layer of their kind that makes some.
//   rope    pairs that stand still have factors of 1e30 in rope_freqs.weight
//   K = V   both planes are cached: keys are rotated and normed with gains, values are not
//   source  transformers, models/gemma4; llama.cpp, conversion/gemma.py and src/models/gemma4.cpp
#include <cmath>
#include <optional>

#include "runtime/model/arch/small_tensor.h"
#include "runtime/model/block_graph.h"
#include "runtime/model/hyperparameters.h"
#include "runtime/model/rope_scaling.h"

namespace satchel::runtime {
namespace {

constexpr float kGlobalBase = 1'000'000.0f, kLocalBase = 10'000.0f;

// Of layers with a window.
struct Local {
  std::size_t window = 0, head_dim = 0;
  ScaledRope rope;
};

Result<Local> read_local(const Hyperparameters& of, std::size_t head_dim) {
  Local local;
  SATCHEL_TRY_ASSIGN(local.window, of.count("attention.sliding_window", UINT32_MAX));
  SATCHEL_TRY_ASSIGN(local.head_dim,
                     of.count("attention.key_length_swa", kernels::kHeadDimMax, head_dim));
  SATCHEL_TRY_ASSIGN(const std::size_t value_dim,
                     of.count("attention.value_length_swa", kernels::kHeadDimMax, local.head_dim));
  if (value_dim != local.head_dim)
    return of.unfit("attention.value_length_swa", "differs from the key length.");
  SATCHEL_TRY_ASSIGN(const std::size_t n_rotated,
                     of.count("rope.dimension_count_swa", local.head_dim, local.head_dim));
  if (n_rotated % 2 != 0) return of.unfit("rope.dimension_count_swa", "is odd.");
  SATCHEL_TRY_ASSIGN(const float base, of.number_above(1, "rope.freq_base_swa", kLocalBase));
  local.rope.inverse_frequency = rope_frequencies(double{base}, n_rotated);
  return local;
}

Result<void> read_attention(const Hyperparameters& of, ModelConfig& config) {
  const std::size_t head_dim = config.layers[0].attention.head_dim;
  SATCHEL_TRY_ASSIGN(const Local local, read_local(of, head_dim));
  SATCHEL_TRY_ASSIGN(const std::size_t n_rotated, of.n_rotated(head_dim));
  SATCHEL_TRY_ASSIGN(const float base, of.number_above(1, "rope.freq_base", kGlobalBase));
  SATCHEL_TRY_ASSIGN(const ScaledRope global, scaled_rope(of, config, double{base}, n_rotated));
  const char* pattern = "attention.sliding_window_pattern";
  SATCHEL_TRY_ASSIGN(const std::vector<bool> has_window, of.file().get_bool_array(of.key(pattern)));
  if (has_window.size() != config.n_layers())
    return of.unfit(pattern, "must have a value for each of the " +
                                 std::to_string(config.n_layers()) + " layers.");
  for (std::size_t i = 0; i < config.n_layers(); ++i) {
    kvcache::LayerShape& shape = config.layers[i].attention;
    shape.attention_scale = 1;
    shape.window = has_window[i] ? local.window : 0;
    if (has_window[i]) shape.head_dim = local.head_dim;
    give_rope(config.layers[i], has_window[i] ? local.rope : global, kernels::RopePairs::halves);
  }
  return {};
}

// The last n layers have no keys and values of their own.
Result<void> read_sharing(const Hyperparameters& of, ModelConfig& config) {
  const char* part = "attention.shared_kv_layers";
  SATCHEL_TRY_ASSIGN(const std::size_t n, of.count_or_none(part, config.n_layers() - 1));
  const std::size_t n_own = config.n_layers() - n;
  for (std::size_t i = n_own; i < config.n_layers(); ++i) {
    LayerConfig& layer = config.layers[i];
    for (std::size_t other = 0; other < n_own; ++other)
      if (config.layers[other].attention == layer.attention) layer.reads_lanes_of = other;
    if (!layer.reads_lanes_of)
      return of.unfit(part, "leaves layer " + std::to_string(i) + " no layer of its kind to read.");
  }
  return {};
}

Result<void> read_layer(const Hyperparameters& of, std::size_t i, LayerConfig& layer) {
  const GgufFile& file = of.file();
  layer.values_are_keys = !layer.reads_lanes_of && !has_tensor(file, i, "attn_v.weight");
  layer.experts_are_fused = has_tensor(file, i, "ffn_gate_up_exps.weight");
  if (layer.n_experts != 0 && has_tensor(file, i, kExpertFactorsTensor)) {
    SATCHEL_TRY_ASSIGN(layer.expert_factors,
                       small_tensor(file, i, kExpertFactorsTensor, layer.n_experts));
  }
  if (!has_tensor(file, i, kOutputScaleTensor)) return {};
  SATCHEL_TRY_ASSIGN(const std::vector<float> scale, small_tensor(file, i, kOutputScaleTensor, 1));
  layer.output_scale = scale[0];
  return {};
}

// A feed-forward stands beside the experts.
Result<void> read_feed_forward(const Hyperparameters& of, ModelConfig& config) {
  std::vector<std::size_t> widths;
  for (const LayerConfig& layer : config.layers) widths.push_back(layer.ffn_width);
  SATCHEL_TRY(of.read_experts(config));
  for (std::size_t i = 0; i < config.n_layers(); ++i)
    if (config.layers[i].n_experts != 0) config.layers[i].ffn_beside = widths[i];
  return {};
}

Result<ModelConfig> read_config(const Hyperparameters& of) {
  SATCHEL_TRY_ASSIGN(ModelConfig config, of.sizes());
  config.embedding_scale = std::sqrt(static_cast<float>(config.width));
  SATCHEL_TRY_ASSIGN(config.logit_cap, of.file().get_f32(of.key("final_logit_softcapping"), 0.0f));
  if (config.logit_cap < 0) return of.unfit("final_logit_softcapping", "must not be negative.");
  SATCHEL_TRY_ASSIGN(config.per_layer_width,
                     of.count_or_none("embedding_length_per_layer_input", config.width));
  SATCHEL_TRY(read_attention(of, config));
  SATCHEL_TRY(read_sharing(of, config));
  SATCHEL_TRY(read_feed_forward(of, config));
  for (std::size_t i = 0; i < config.n_layers(); ++i)
    SATCHEL_TRY(read_layer(of, i, config.layers[i]));
  return config;
}

constexpr BlockStyle kStyle{.has_norms_behind = true,
                            .qk_norm = BlockStyle::QkNorm::of_heads,
                            .has_value_norm = true,
                            .has_output_scale = true,
                            .activation = kernels::Activation::gelu_tanh};

}  // namespace

extern const Architecture arch_gemma4{"gemma4", read_config, make_block_graph<kStyle>};

}  // namespace satchel::runtime
