#include "runtime/model/hyperparameters.h"

#include <algorithm>
#include <cmath>

namespace satchel::runtime {
namespace {

constexpr std::size_t kLayersMax = 512, kHeadsMax = 1024, kVocabularyMax = 1'000'000;
constexpr std::size_t kWidthMax = std::size_t{1} << 20;  // chosen: ten times the widest known model
constexpr std::size_t kContextMax = std::size_t{1}
                                    << 27;  // chosen: positions stay exact in float64
constexpr std::size_t kExpertsMax = 1024;   // chosen: twice the most of known models
constexpr std::uint32_t kSoftmaxGating = 1, kSigmoidGating = 2;  // GGUF's ids; 0: not said

}  // namespace

Error Hyperparameters::unfit(std::string_view part, const std::string& what) const {
  return Error{ErrorKind::corrupt, "MODEL_METADATA", "\"" + key(part) + "\" " + what};
}

Result<std::size_t> Hyperparameters::count(std::string_view part, std::size_t max,
                                           std::optional<std::size_t> absent) const {
  std::optional<std::uint32_t> fallback;
  if (absent) fallback = static_cast<std::uint32_t>(*absent);
  SATCHEL_TRY_ASSIGN(const std::uint32_t value, file_.get_u32(key(part), fallback));
  if (value == 0 || value > max)
    return unfit(part, "is " + std::to_string(value) + ", but must be from 1 to " +
                           std::to_string(max) + ".");
  return static_cast<std::size_t>(value);
}

Result<std::vector<std::size_t>> Hyperparameters::counts(std::string_view part, std::size_t max,
                                                         std::size_t n_layers,
                                                         std::optional<std::size_t> absent,
                                                         std::size_t least) const {
  const GgufValue* found = file_.find(key(part));
  if (found == nullptr || found->type != GgufType::array) {
    SATCHEL_TRY_ASSIGN(const std::size_t same, count(part, max, absent));
    return std::vector<std::size_t>(n_layers, same);
  }
  SATCHEL_TRY_ASSIGN(const std::vector<std::int32_t> values, file_.get_i32_array(key(part)));
  if (values.size() != n_layers)
    return unfit(part, "has " + std::to_string(values.size()) + " values for " +
                           std::to_string(n_layers) + " layers.");
  std::vector<std::size_t> out;
  for (const std::int32_t value : values) {
    if (value < 0 || static_cast<std::size_t>(value) < least ||
        static_cast<std::size_t>(value) > max)
      return unfit(part, "has a value of " + std::to_string(value) + ", but must be from " +
                             std::to_string(least) + " to " + std::to_string(max) + ".");
    out.push_back(static_cast<std::size_t>(value));
  }
  return out;
}

Result<std::size_t> Hyperparameters::count_or_none(std::string_view part, std::size_t max) const {
  SATCHEL_TRY_ASSIGN(const std::uint32_t value, file_.get_u32(key(part), 0));
  if (value > max)
    return unfit(
        part, "is " + std::to_string(value) + ", but must be at most " + std::to_string(max) + ".");
  return static_cast<std::size_t>(value);
}

Result<float> Hyperparameters::number_above(float least, std::string_view part,
                                            std::optional<float> absent) const {
  SATCHEL_TRY_ASSIGN(const float value, file_.get_f32(key(part), absent));
  if (!(value > least))
    return unfit(part, "must be above " + std::to_string(static_cast<int>(least)) + ".");
  return value;
}

Result<ModelConfig> Hyperparameters::sizes() const {
  SATCHEL_TRY_ASSIGN(ModelConfig config, sizes_but_kv_heads());
  SATCHEL_TRY(check_value_length(config));
  SATCHEL_TRY(read_kv_heads(config, 1));
  return config;
}

Result<ModelConfig> Hyperparameters::sizes_of_latent() const {
  SATCHEL_TRY_ASSIGN(ModelConfig config, sizes_but_kv_heads());
  for (LayerConfig& layer : config.layers) layer.attention.n_kv_heads = 1;
  return config;
}

Result<ModelConfig> Hyperparameters::sizes_of_hybrid() const {
  SATCHEL_TRY_ASSIGN(ModelConfig config, sizes_but_kv_heads());
  SATCHEL_TRY(check_value_length(config));
  SATCHEL_TRY(read_kv_heads(config, 0));
  return config;
}

Result<ModelConfig> Hyperparameters::sizes_of_parts() const {
  SATCHEL_TRY_ASSIGN(ModelConfig config, sizes_but_kv_heads(0));
  SATCHEL_TRY(check_value_length(config));
  SATCHEL_TRY(read_kv_heads(config, 0));
  return config;
}

Result<ModelConfig> Hyperparameters::sizes_but_kv_heads(std::size_t ffn_least) const {
  ModelConfig config;
  config.architecture = architecture_;
  SATCHEL_TRY_ASSIGN(const std::size_t n_layers, count("block_count", kLayersMax));
  SATCHEL_TRY_ASSIGN(config.width, count("embedding_length", kWidthMax));
  LayerConfig layer;
  // Files with experts alone need not say how wide a feed-forward without them would be.
  const bool has_width = has("feed_forward_length") || !has("expert_feed_forward_length");
  SATCHEL_TRY_ASSIGN(const std::vector<std::size_t> ffn_widths,
                     counts(has_width ? "feed_forward_length" : "expert_feed_forward_length",
                            kWidthMax, n_layers, {}, ffn_least));
  SATCHEL_TRY_ASSIGN(config.context, count("context_length", kContextMax));
  SATCHEL_TRY(read_heads(layer, config.width));
  SATCHEL_TRY_ASSIGN(config.norm_epsilon, number_above(0, "attention.layer_norm_rms_epsilon"));
  if (config.norm_epsilon > 1)
    return unfit("attention.layer_norm_rms_epsilon", "must be above 0 and at most 1.");
  SATCHEL_TRY_ASSIGN(config.n_vocabulary, n_vocabulary(config.width));
  config.layers.assign(n_layers, layer);
  for (std::size_t i = 0; i < n_layers; ++i) {
    config.layers[i].ffn_width = ffn_widths[i];
    config.layers[i].block = config.layers[i].ffn_block = i;
  }
  return config;
}

Result<void> Hyperparameters::read_heads(LayerConfig& layer, std::size_t width) const {
  kvcache::LayerShape& shape = layer.attention;
  SATCHEL_TRY_ASSIGN(shape.n_heads, count("attention.head_count", kHeadsMax));
  SATCHEL_TRY_ASSIGN(shape.head_dim,
                     count("attention.key_length", kernels::kHeadDimMax, width / shape.n_heads));
  shape.attention_scale = static_cast<float>(1 / std::sqrt(static_cast<double>(shape.head_dim)));
  return {};
}

Result<void> Hyperparameters::check_value_length(const ModelConfig& config) const {
  const std::size_t head_dim = config.layers[0].attention.head_dim;
  SATCHEL_TRY_ASSIGN(const std::size_t value_dim,
                     count("attention.value_length", kernels::kHeadDimMax, head_dim));
  if (value_dim != head_dim)
    return Error{ErrorKind::unsupported, "MODEL_ARCH",
                 "The model's key length " + std::to_string(head_dim) + " and value length " +
                     std::to_string(value_dim) + " differ, which is not supported."};
  return {};
}

Result<void> Hyperparameters::read_kv_heads(ModelConfig& config, std::size_t least) const {
  const std::size_t n_heads = config.layers[0].attention.n_heads;
  SATCHEL_TRY_ASSIGN(
      const std::vector<std::size_t> n_kv_heads,
      counts("attention.head_count_kv", kHeadsMax, config.n_layers(), n_heads, least));
  for (std::size_t i = 0; i < config.n_layers(); ++i) {
    if (n_kv_heads[i] != 0 && n_heads % n_kv_heads[i] != 0)
      return unfit("attention.head_count_kv", "is " + std::to_string(n_kv_heads[i]) +
                                                  ", which does not divide the " +
                                                  std::to_string(n_heads) + " heads.");
    config.layers[i].attention.n_kv_heads = n_kv_heads[i];
  }
  return {};
}

// The vocabulary is what the embedding has rows for.
Result<std::size_t> Hyperparameters::n_vocabulary(std::size_t width) const {
  SATCHEL_TRY_ASSIGN(const GgufTensor* table, file_.require_tensor("token_embd.weight"));
  const std::size_t n_rows = table->n_rows();
  if (table->row_length() != width)
    return unfit("embedding_length", "is " + std::to_string(width) +
                                         ", but rows of token_embd.weight have " +
                                         std::to_string(table->row_length()) + " numbers.");
  if (n_rows == 0 || n_rows > kVocabularyMax)
    return Error{ErrorKind::corrupt, "MODEL_METADATA",
                 "\"token_embd.weight\" has " + std::to_string(n_rows) +
                     " rows; a vocabulary has 1 to 1,000,000 tokens."};
  SATCHEL_TRY_ASSIGN(const std::size_t declared, count("vocab_size", UINT32_MAX, n_rows));
  if (declared != n_rows)
    return unfit("vocab_size", "is " + std::to_string(declared) + ", but token_embd.weight has " +
                                   std::to_string(n_rows) + " rows.");
  return n_rows;
}

Result<std::size_t> Hyperparameters::window(const ModelConfig& config) const {
  SATCHEL_TRY_ASSIGN(const std::size_t n, count_or_none("attention.sliding_window", UINT32_MAX));
  return n >= config.context ? 0 : n;
}

Result<void> Hyperparameters::read_experts(ModelConfig& config, Weighting usual_weighting) const {
  SATCHEL_TRY_ASSIGN(const std::size_t n_experts, count_or_none("expert_count", kExpertsMax));
  if (n_experts == 0) return {};
  SATCHEL_TRY_ASSIGN(const std::size_t n_used, count("expert_used_count", n_experts));
  std::size_t usual = 0;
  for (const LayerConfig& layer : config.layers) usual = std::max(usual, layer.ffn_width);
  SATCHEL_TRY_ASSIGN(const std::size_t ffn_width,
                     count("expert_feed_forward_length", kWidthMax, usual));
  SATCHEL_TRY_ASSIGN(const ExpertWeights weights, expert_weights(usual_weighting));
  for (LayerConfig& layer : config.layers) {
    if (!layer.has_ffn()) continue;
    layer.n_experts = n_experts;
    layer.n_experts_used = n_used;
    layer.ffn_width = ffn_width;
    layer.expert_weighting = weights.weighting;
    layer.expert_scale = weights.scale;
  }
  return {};
}

// Refuses files that weigh experts otherwise than they are weighed here.
Result<Hyperparameters::ExpertWeights> Hyperparameters::expert_weights(Weighting usual) const {
  const bool says_more = usual == Weighting::softmax_of_all;
  SATCHEL_TRY_ASSIGN(const bool is_normed, file_.get_bool(key("expert_weights_norm"), !says_more));
  SATCHEL_TRY_ASSIGN(const std::uint32_t gating, file_.get_u32(key("expert_gating_func"), 0));
  SATCHEL_TRY_ASSIGN(const float given, file_.get_f32(key("expert_weights_scale"), 0.0f));
  SATCHEL_TRY_ASSIGN(const std::uint32_t n_groups, file_.get_u32(key("expert_group_count"), 0));
  Weighting weighting = usual;
  if (says_more && is_normed)
    weighting = gating == kSigmoidGating ? Weighting::sigmoid : Weighting::softmax;
  const bool by_sigmoid = weighting == Weighting::sigmoid;
  const bool is_known = gating == 0 || gating == (by_sigmoid ? kSigmoidGating : kSoftmaxGating);
  const bool norm_fits = is_normed == (weighting != Weighting::softmax_of_all);
  const bool scale_fits =
      usual == Weighting::softmax ? given == 0 || given == 1 : std::isfinite(given);
  if (is_known && norm_fits && scale_fits && n_groups <= 1)
    return ExpertWeights{weighting, given == 0 ? 1.0f : given};
  return Error{ErrorKind::unsupported, "MODEL_ARCH",
               std::string("This model does not weight its experts by ") +
                   (by_sigmoid ? "normalised sigmoids of" : "a softmax over") +
                   " those that a token uses. Other weightings are not supported."};
}

Result<std::size_t> Hyperparameters::n_rotated(std::size_t head_dim) const {
  SATCHEL_TRY_ASSIGN(const std::size_t n, count("rope.dimension_count", head_dim, head_dim));
  if (n % 2 != 0)
    return unfit("rope.dimension_count", "is " + std::to_string(n) + ", but must be even.");
  return n;
}

}  // namespace satchel::runtime
