// DeepSeek-V2 and what llama.cpp's converter makes of later models that are built alike: latent
// attention (parts/latent_part.h), first layers with a dense feed-forward, then experts beside one
// that all tokens share. Queries come of one matrix (V2-Lite) or of two.
//   YaRN    the logits are scaled by the square of what YaRN asks for over all dimensions; the file
//           has a tenth of that factor's weight. What rotates is then as long as before.
//   differs files whose attn_kv_b is in one piece, as converters wrote it until April 2025, are
//           refused: its keys' part is needed transposed
//   source  arXiv:2405.04434; transformers' models/deepseek_v2; llama.cpp,
//           conversion of DeepseekV2Model and src/models/deepseek2.cpp
#include <cmath>

#include "runtime/model/arch/choice_biases.h"
#include "runtime/model/block_graph.h"
#include "runtime/model/hyperparameters.h"
#include "runtime/model/rope_scaling.h"

namespace satchel::runtime {
namespace {

constexpr std::size_t kRankMax = std::size_t{1} << 16;  // chosen
constexpr float kBase = 10'000.0f;
constexpr double kLogMultiplierUnit = 0.1;  // the converter multiplies by it

Error unsupported(const std::string& what) {
  return Error{ErrorKind::unsupported, "MODEL_ARCH", what};
}

Result<LatentConfig> read_latent(const Hyperparameters& of) {
  if (!of.has("attention.key_length_mla"))
    return unsupported(
        "This file was made by an old converter, which left keys and values of latent attention in "
        "one tensor (attn_kv_b). Convert the model again, or get a newer file.");
  LatentConfig latent;
  SATCHEL_TRY_ASSIGN(latent.rank, of.count("attention.kv_lora_rank", kernels::kHeadDimMax));
  SATCHEL_TRY_ASSIGN(latent.query_rank, of.count_or_none("attention.q_lora_rank", kRankMax));
  SATCHEL_TRY_ASSIGN(const std::size_t key_dim,
                     of.count("attention.key_length", kernels::kHeadDimMax));
  SATCHEL_TRY_ASSIGN(const std::size_t query_dim, of.count("attention.key_length_mla", kRankMax));
  SATCHEL_TRY_ASSIGN(latent.value_dim, of.count("attention.value_length_mla", kRankMax));
  SATCHEL_TRY_ASSIGN(latent.rotated, of.n_rotated(key_dim));
  if (latent.key_dim() != key_dim)
    return of.unfit("attention.key_length", "must be that of the latent and of what RoPE rotates.");
  if (query_dim <= latent.rotated)
    return of.unfit("attention.key_length_mla", "must be above rope.dimension_count.");
  latent.plain = query_dim - latent.rotated;
  return latent;
}

Result<double> read_logit_factor(const Hyperparameters& of, ScaledRope& rope) {
  SATCHEL_TRY_ASSIGN(const float tenth,
                     of.file().get_f32(of.key("rope.scaling.yarn_log_multiplier"), 0.0f));
  if (tenth == 0) return 1.0;
  SATCHEL_TRY_ASSIGN(const float reach, of.number_above(0, "rope.scaling.factor", 1.0f));
  rope.amplitude = 1;
  const double weight = static_cast<double>(tenth) / kLogMultiplierUnit;
  const double more = reach > 1 ? 0.1 * weight * std::log(static_cast<double>(reach)) : 0;
  return (1 + more) * (1 + more);
}

Result<void> read_attention(const Hyperparameters& of, ModelConfig& config) {
  SATCHEL_TRY_ASSIGN(const LatentConfig latent, read_latent(of));
  SATCHEL_TRY_ASSIGN(const float base, of.number_above(1, "rope.freq_base", kBase));
  SATCHEL_TRY_ASSIGN(ScaledRope rope,
                     scaled_rope(of, config, static_cast<double>(base), latent.rotated));
  SATCHEL_TRY_ASSIGN(const double logit_factor, read_logit_factor(of, rope));
  const double scale = logit_factor / std::sqrt(static_cast<double>(latent.query_dim()));
  for (LayerConfig& layer : config.layers) {
    layer.latent = latent;
    layer.attention.is_latent = true;
    layer.attention.head_dim = latent.key_dim();
    layer.attention.attention_scale = static_cast<float>(scale);
    give_rope(layer, rope, kernels::RopePairs::adjacent);
  }
  return {};
}

// The first layers keep the feed-forward that they have.
Result<void> read_feed_forward(const Hyperparameters& of, ModelConfig& config) {
  const std::size_t dense_width = config.layers[0].ffn_width;
  SATCHEL_TRY_ASSIGN(const std::size_t n_groups, of.count_or_none("expert_group_count", 1024));
  if (n_groups > 1)
    return unsupported("This model chooses groups of experts first, which is not supported.");
  SATCHEL_TRY(of.read_experts(config, kernels::Backend::Weighting::softmax_of_all));
  SATCHEL_TRY_ASSIGN(const std::size_t n_dense,
                     of.count_or_none("leading_dense_block_count", config.n_layers()));
  SATCHEL_TRY_ASSIGN(const std::size_t n_shared, of.count_or_none("expert_shared_count", 1024));
  for (std::size_t i = 0; i < config.n_layers(); ++i) {
    LayerConfig& layer = config.layers[i];
    if (i < n_dense) {
      layer.n_experts = layer.n_experts_used = 0;
      layer.ffn_width = dense_width;
    } else {
      layer.ffn_shared = n_shared * layer.ffn_width;
    }
  }
  const bool by_sigmoid =
      config.layers.back().expert_weighting == kernels::Backend::Weighting::sigmoid;
  return by_sigmoid ? read_choice_biases(of, config) : Result<void>();
}

Result<ModelConfig> read_config(const Hyperparameters& of) {
  if (of.has("attention.temperature_scale"))
    return unsupported("This model scales queries by their position, which is not supported.");
  SATCHEL_TRY_ASSIGN(ModelConfig config, of.sizes_of_latent());
  SATCHEL_TRY(read_attention(of, config));
  SATCHEL_TRY(read_feed_forward(of, config));
  return config;
}

}  // namespace

extern const Architecture arch_deepseek2{"deepseek2", read_config,
                                         make_block_graph<BlockStyle{.has_shared_router = false}>};

}  // namespace satchel::runtime
