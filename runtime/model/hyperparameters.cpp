#include "runtime/model/hyperparameters.h"

#include <cmath>

namespace satchel::runtime {
namespace {

constexpr std::size_t kLayersMax = 512, kHeadsMax = 1024, kVocabularyMax = 1'000'000;
constexpr std::size_t kWidthMax = std::size_t{1} << 20;  // chosen: ten times the widest known model
constexpr std::size_t kContextMax = std::size_t{1}
                                    << 27;  // chosen: positions stay exact in float64
constexpr std::size_t kHeadDimMax = 256;    // page_layout.h

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
    return unfit(part, "is " + std::to_string(value) + ", which must lie between 1 and " +
                           std::to_string(max) + ".");
  return static_cast<std::size_t>(value);
}

Result<std::size_t> Hyperparameters::count_or_none(std::string_view part, std::size_t max) const {
  SATCHEL_TRY_ASSIGN(const std::uint32_t value, file_.get_u32(key(part), 0));
  if (value > max)
    return unfit(part, "is " + std::to_string(value) + ", which must be at most " +
                           std::to_string(max) + ".");
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
  ModelConfig config;
  config.architecture = architecture_;
  SATCHEL_TRY_ASSIGN(const std::size_t n_layers, count("block_count", kLayersMax));
  SATCHEL_TRY_ASSIGN(config.width, count("embedding_length", kWidthMax));
  LayerConfig layer;
  SATCHEL_TRY_ASSIGN(layer.ffn_width, count("feed_forward_length", kWidthMax));
  SATCHEL_TRY_ASSIGN(config.context, count("context_length", kContextMax));
  SATCHEL_TRY(read_heads(layer, config.width));
  SATCHEL_TRY_ASSIGN(config.norm_epsilon, number_above(0, "attention.layer_norm_rms_epsilon"));
  if (config.norm_epsilon > 1)
    return unfit("attention.layer_norm_rms_epsilon", "must lie between 0 and 1.");
  SATCHEL_TRY_ASSIGN(config.n_vocabulary, n_vocabulary());
  config.layers.assign(n_layers, layer);
  return config;
}

Result<void> Hyperparameters::read_heads(LayerConfig& layer, std::size_t width) const {
  kvcache::LayerShape& shape = layer.attention;
  SATCHEL_TRY_ASSIGN(shape.n_heads, count("attention.head_count", kHeadsMax));
  SATCHEL_TRY_ASSIGN(shape.n_kv_heads, count("attention.head_count_kv", kHeadsMax, shape.n_heads));
  if (shape.n_heads % shape.n_kv_heads != 0)
    return unfit("attention.head_count_kv", "is " + std::to_string(shape.n_kv_heads) +
                                                ", which does not divide the " +
                                                std::to_string(shape.n_heads) + " heads.");
  SATCHEL_TRY_ASSIGN(shape.head_dim,
                     count("attention.key_length", kHeadDimMax, width / shape.n_heads));
  SATCHEL_TRY_ASSIGN(const std::size_t value_dim,
                     count("attention.value_length", kHeadDimMax, shape.head_dim));
  if (value_dim != shape.head_dim)
    return Error{ErrorKind::unsupported, "MODEL_ARCH",
                 "Keys of " + std::to_string(shape.head_dim) + " and values of " +
                     std::to_string(value_dim) + " numbers a head: only equal ones are supported."};
  shape.attention_scale = static_cast<float>(1 / std::sqrt(static_cast<double>(shape.head_dim)));
  return {};
}

// The vocabulary is what the embedding has rows for.
Result<std::size_t> Hyperparameters::n_vocabulary() const {
  SATCHEL_TRY_ASSIGN(const GgufTensor* table, file_.require_tensor("token_embd.weight"));
  const std::size_t n_rows = table->n_rows();
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

Result<double> Hyperparameters::linear_factor() const {
  std::string type = "none";
  if (has("rope.scaling.type")) {
    SATCHEL_TRY_ASSIGN(const std::string_view given, file_.get_string(key("rope.scaling.type")));
    type = given;
  } else if (has("rope.scale_linear")) {
    SATCHEL_TRY_ASSIGN(const float factor, number_above(0, "rope.scale_linear"));
    return static_cast<double>(factor);
  }
  if (type == "none") return 1.0;
  if (type != "linear")
    return Error{ErrorKind::unsupported, "MODEL_ARCH",
                 "RoPE scaling " + quoted(std::string_view(type)) +
                     " is not supported. Supported: none, linear, and a tensor rope_freqs.weight."};
  SATCHEL_TRY_ASSIGN(const float factor, number_above(0, "rope.scaling.factor"));
  return static_cast<double>(factor);
}

Result<std::size_t> Hyperparameters::n_rotated(std::size_t head_dim) const {
  SATCHEL_TRY_ASSIGN(const std::size_t n, count("rope.dimension_count", head_dim, head_dim));
  if (n % 2 != 0) return unfit("rope.dimension_count", "is odd: " + std::to_string(n) + ".");
  return n;
}

std::vector<double> rope_frequencies(double base, std::size_t n_rotated, double slower) {
  std::vector<double> out;
  for (std::size_t i = 0; i < n_rotated / 2; ++i)
    out.push_back(std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(n_rotated)) /
                  slower);
  return out;
}

}  // namespace satchel::runtime
