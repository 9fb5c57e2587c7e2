#include "runtime/model/config.h"

#include <algorithm>
#include <cmath>

#include "kernels/reference/dequant.h"
#include "runtime/gguf/reader.h"

namespace satchel::runtime {
namespace {

constexpr std::uint32_t kLayersMax = 512, kHeadsMax = 1024, kVocabularyMax = 1'000'000;
constexpr std::uint32_t kWidthMax = 1u << 20;    // chosen: ten times the widest known model
constexpr std::uint32_t kContextMax = 1u << 27;  // chosen: positions stay exact in float64
constexpr std::uint32_t kHeadDimMax = 256;       // page_layout.h

Error unfit(const std::string& key, const std::string& what) {
  return Error{ErrorKind::corrupt, "MODEL_METADATA", "\"" + key + "\" " + what};
}

// A count that must lie in 1 … max.
Result<std::size_t> get_count(const GgufFile& file, const std::string& key, std::uint32_t max,
                              std::optional<std::uint32_t> absent = {}) {
  SATCHEL_TRY_ASSIGN(const std::uint32_t value, file.get_u32(key, absent));
  if (value == 0 || value > max)
    return unfit(key, "is " + std::to_string(value) + ", which must lie between 1 and " +
                          std::to_string(max) + ".");
  return static_cast<std::size_t>(value);
}

// What other graphs need and this one does not compute.
Result<void> refuse_variants(const GgufFile& file) {
  SATCHEL_TRY_ASSIGN(const std::uint32_t n_experts, file.get_u32("llama.expert_count", 0));
  if (n_experts != 0)
    return Error{ErrorKind::unsupported, "MODEL_ARCH",
                 "This is a mixture of " + std::to_string(n_experts) +
                     " experts, which is not supported. Supported: dense llama models."};
  return {};
}

Result<void> read_sizes(const GgufFile& file, ModelConfig& config) {
  SATCHEL_TRY_ASSIGN(config.n_layers, get_count(file, "llama.block_count", kLayersMax));
  SATCHEL_TRY_ASSIGN(config.width, get_count(file, "llama.embedding_length", kWidthMax));
  SATCHEL_TRY_ASSIGN(config.ffn_width, get_count(file, "llama.feed_forward_length", kWidthMax));
  SATCHEL_TRY_ASSIGN(config.context, get_count(file, "llama.context_length", kContextMax));
  SATCHEL_TRY_ASSIGN(config.n_heads, get_count(file, "llama.attention.head_count", kHeadsMax));
  SATCHEL_TRY_ASSIGN(config.n_kv_heads, get_count(file, "llama.attention.head_count_kv", kHeadsMax,
                                                  static_cast<std::uint32_t>(config.n_heads)));
  if (config.n_heads % config.n_kv_heads != 0)
    return unfit("llama.attention.head_count_kv", "is " + std::to_string(config.n_kv_heads) +
                                                      ", which does not divide the " +
                                                      std::to_string(config.n_heads) + " heads.");
  const auto even_share = static_cast<std::uint32_t>(config.width / config.n_heads);
  SATCHEL_TRY_ASSIGN(config.head_dim,
                     get_count(file, "llama.attention.key_length", kHeadDimMax, even_share));
  SATCHEL_TRY_ASSIGN(const std::size_t value_dim,
                     get_count(file, "llama.attention.value_length", kHeadDimMax,
                               static_cast<std::uint32_t>(config.head_dim)));
  if (value_dim != config.head_dim)
    return Error{ErrorKind::unsupported, "MODEL_ARCH",
                 "Keys of " + std::to_string(config.head_dim) + " and values of " +
                     std::to_string(value_dim) + " numbers a head: only equal ones are supported."};
  // A model trained with a sliding window is exact up to it, and not meant to see further.
  SATCHEL_TRY_ASSIGN(const std::uint32_t window, file.get_u32("llama.attention.sliding_window", 0));
  if (window != 0) config.context = std::min<std::size_t>(config.context, window);
  SATCHEL_TRY_ASSIGN(config.norm_epsilon, file.get_f32("llama.attention.layer_norm_rms_epsilon"));
  if (!(config.norm_epsilon > 0) || config.norm_epsilon > 1)
    return unfit("llama.attention.layer_norm_rms_epsilon", "must lie between 0 and 1.");
  return {};
}

// The vocabulary is what the embedding has rows for.
Result<void> read_vocabulary(const GgufFile& file, ModelConfig& config) {
  SATCHEL_TRY_ASSIGN(const GgufTensor* table, file.require_tensor("token_embd.weight"));
  const std::size_t n_rows = table->n_rows();
  if (n_rows == 0 || n_rows > kVocabularyMax)
    return unfit("token_embd.weight", "has " + std::to_string(n_rows) +
                                          " rows; a vocabulary has 1 to 1,000,000 tokens.");
  SATCHEL_TRY_ASSIGN(const std::uint32_t declared,
                     file.get_u32("llama.vocab_size", static_cast<std::uint32_t>(n_rows)));
  if (declared != n_rows)
    return unfit("llama.vocab_size", "is " + std::to_string(declared) +
                                         ", but token_embd.weight has " + std::to_string(n_rows) +
                                         " rows.");
  config.n_vocabulary = n_rows;
  return {};
}

// How much slower every pair turns: 1, or the factor of linear scaling.
Result<double> linear_factor(const GgufFile& file) {
  std::string type = "none";
  if (file.has("llama.rope.scaling.type")) {
    SATCHEL_TRY_ASSIGN(const std::string_view given, file.get_string("llama.rope.scaling.type"));
    type = given;
  } else if (file.has("llama.rope.scale_linear")) {
    SATCHEL_TRY_ASSIGN(const float factor, file.get_f32("llama.rope.scale_linear"));
    if (!(factor > 0)) return unfit("llama.rope.scale_linear", "must be above 0.");
    return static_cast<double>(factor);
  }
  if (type == "none") return 1.0;
  if (type != "linear")
    return Error{ErrorKind::unsupported, "MODEL_ARCH",
                 "RoPE scaling " + quoted(std::string_view(type)) +
                     " is not supported. Supported: none, linear, and a tensor rope_freqs.weight."};
  SATCHEL_TRY_ASSIGN(const float factor, file.get_f32("llama.rope.scaling.factor"));
  if (!(factor > 0)) return unfit("llama.rope.scaling.factor", "must be above 0.");
  return static_cast<double>(factor);
}

// One divisor per pair (Llama 3): all 1 where the file has no such tensor.
Result<std::vector<float>> pair_factors(const GgufFile& file, std::size_t n_pairs) {
  std::vector<float> factors(n_pairs, 1.0f);
  if (file.find_tensor("rope_freqs.weight") == nullptr) return factors;
  SATCHEL_TRY_ASSIGN(const GgufTensor* tensor, file.require_tensor("rope_freqs.weight"));
  if (tensor->n_values != n_pairs || tensor->type != kernels::WeightType::f32)
    return unfit("rope_freqs.weight", "has " + std::to_string(tensor->n_values) + " " +
                                          tensor->type_name + " values, " +
                                          std::to_string(n_pairs) + " F32 expected.");
  kernels::dequantise_row(kernels::WeightType::f32, tensor->bytes.data(), n_pairs, factors.data());
  for (const float factor : factors)
    if (!(factor > 0) || !std::isfinite(factor))
      return unfit("rope_freqs.weight", "holds a factor that is not above 0.");
  return factors;
}

Result<void> read_rope(const GgufFile& file, ModelConfig& config) {
  SATCHEL_TRY_ASSIGN(
      const std::size_t n_rotated,
      get_count(file, "llama.rope.dimension_count", static_cast<std::uint32_t>(config.head_dim),
                static_cast<std::uint32_t>(config.head_dim)));
  if (n_rotated % 2 != 0)
    return unfit("llama.rope.dimension_count", "is odd: " + std::to_string(n_rotated) + ".");
  SATCHEL_TRY_ASSIGN(const float base, file.get_f32("llama.rope.freq_base", 10000.0f));
  if (!(base > 1)) return unfit("llama.rope.freq_base", "must be above 1.");
  SATCHEL_TRY_ASSIGN(const double slower, linear_factor(file));
  SATCHEL_TRY_ASSIGN(const std::vector<float> factors, pair_factors(file, n_rotated / 2));
  for (std::size_t i = 0; i < n_rotated / 2; ++i) {
    const double turn = std::pow(static_cast<double>(base),
                                 -2.0 * static_cast<double>(i) / static_cast<double>(n_rotated));
    config.inverse_frequency.push_back(turn / slower / static_cast<double>(factors[i]));
  }
  return {};
}

}  // namespace

kvcache::CacheShape ModelConfig::cache_shape() const {
  return {.n_layers = n_layers,
          .n_heads = n_heads,
          .n_kv_heads = n_kv_heads,
          .head_dim = head_dim,
          .attention_scale = static_cast<float>(1 / std::sqrt(static_cast<double>(head_dim)))};
}

Result<ModelConfig> ModelConfig::from(const GgufFile& file) {
  ModelConfig config;
  SATCHEL_TRY_ASSIGN(const std::string_view architecture, file.get_string("general.architecture"));
  if (architecture != "llama")
    return Error{ErrorKind::unsupported, "MODEL_ARCH",
                 quoted(architecture) + " is not supported. Supported: llama."};
  config.architecture = architecture;
  if (file.has("general.name")) {
    SATCHEL_TRY_ASSIGN(const std::string_view name, file.get_string("general.name"));
    config.name = name;
  }
  SATCHEL_TRY(refuse_variants(file));
  SATCHEL_TRY(read_sizes(file, config));
  SATCHEL_TRY(read_vocabulary(file, config));
  SATCHEL_TRY(read_rope(file, config));
  return config;
}

}  // namespace satchel::runtime
