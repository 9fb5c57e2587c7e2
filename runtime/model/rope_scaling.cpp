#include "runtime/model/rope_scaling.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/reference/dequant.h"

namespace satchel::runtime {
namespace {

constexpr float kBase = 10000.0f;       // where a file names none
constexpr double kAmplitudeMost = 100;  // chosen: YaRN's for a thousandfold reach is 1.7
constexpr const char* kTypes[] = {"none", "linear", "yarn", "longrope"};
constexpr const char *kLongFactors = "rope_factors_long.weight",
                     *kShortFactors = "rope_factors_short.weight";

Error unfit_factors(const char* name, const std::string& what) {
  return Error{ErrorKind::corrupt, "MODEL_METADATA", "\"" + std::string(name) + "\" " + what};
}

// One divisor per pair, where the file has the tensor.
Result<void> divide_by_factors(const GgufFile& file, const char* name,
                               std::vector<double>& frequencies) {
  if (file.find_tensor(name) == nullptr) return {};
  SATCHEL_TRY_ASSIGN(const GgufTensor* tensor, file.require_tensor(name));
  if (tensor->n_values != frequencies.size() || tensor->type != kernels::WeightType::f32)
    return unfit_factors(name, "has " + std::to_string(tensor->n_values) + " " + tensor->type_name +
                                   " values, but must have " + std::to_string(frequencies.size()) +
                                   " of type F32.");
  std::vector<float> factors(frequencies.size());
  kernels::dequantise_row(kernels::WeightType::f32, tensor->bytes.data(), factors.size(),
                          factors.data());
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (!(factors[i] > 0) || !std::isfinite(factors[i]))
      return unfit_factors(name, "contains a factor that is not a finite number above 0.");
    frequencies[i] /= static_cast<double>(factors[i]);
  }
  return {};
}

Result<std::string_view> type_of(const Hyperparameters& of) {
  if (!of.has("rope.scaling.type"))
    return std::string_view(of.has("rope.scale_linear") ? "linear" : "none");
  SATCHEL_TRY_ASSIGN(const std::string_view type,
                     of.file().get_string(of.key("rope.scaling.type")));
  if (std::find(std::begin(kTypes), std::end(kTypes), type) == std::end(kTypes))
    return Error{ErrorKind::unsupported, "MODEL_ARCH",
                 "RoPE scaling " + quoted(type) +
                     " is not supported. Supported: none, linear, yarn, longrope, and a tensor "
                     "rope_freqs.weight."};
  return type;
}

Result<double> factor_of(const Hyperparameters& of) {
  const char* key = of.has("rope.scaling.factor") || !of.has("rope.scale_linear")
                        ? "rope.scaling.factor"
                        : "rope.scale_linear";
  SATCHEL_TRY_ASSIGN(const float factor, of.number_above(0, key));
  return static_cast<double>(factor);
}

// Positions that the model was first trained on.
Result<std::size_t> original_context(const Hyperparameters& of, const ModelConfig& config) {
  return of.count("rope.scaling.original_context_length", UINT32_MAX, config.context);
}

struct Yarn {
  double factor = 1, ext_factor = 1, beta_fast = 32, beta_slow = 1, original = 1;
  YarnRamp ramp = YarnRamp::whole_pairs;

  // The pair that turns `turns` times within the original context, as a fraction.
  double pair_of(double turns, double base, std::size_t n_rotated) const {
    return static_cast<double>(n_rotated) * std::log(original / (turns * 2 * std::numbers::pi)) /
           (2 * std::log(base));
  }
  void slow_down(std::vector<double>& frequencies, double base) const {
    const std::size_t n_rotated = 2 * frequencies.size();
    const double last = static_cast<double>(n_rotated) - 1;
    const double first = pair_of(beta_fast, base, n_rotated);
    const double end = pair_of(beta_slow, base, n_rotated);
    const bool is_whole = ramp == YarnRamp::whole_pairs;
    const double low = std::max(0.0, is_whole ? std::floor(first) : first);
    const double high = std::min(last, is_whole ? std::ceil(end) : end);
    for (std::size_t i = 0; i < frequencies.size(); ++i) {
      const double passed = (static_cast<double>(i) - low) / std::max(0.001, high - low);
      const double as_trained = (1 - std::clamp(passed, 0.0, 1.0)) * ext_factor;
      frequencies[i] *= as_trained + (1 - as_trained) / factor;
    }
  }
};

double yarn_amplitude(double factor, double weight) {
  return factor <= 1 ? 1 : 0.1 * weight * std::log(factor) + 1;
}

Result<void> apply_yarn(const Hyperparameters& of, const ModelConfig& config, double base,
                        YarnRamp ramp, ScaledRope& rope) {
  Yarn yarn{.ramp = ramp};
  SATCHEL_TRY_ASSIGN(yarn.factor, factor_of(of));
  SATCHEL_TRY_ASSIGN(const std::size_t original, original_context(of, config));
  yarn.original = static_cast<double>(original);
  const auto read = [&](const char* part, double absent) -> Result<double> {
    SATCHEL_TRY_ASSIGN(const float value,
                       of.file().get_f32(of.key(part), static_cast<float>(absent)));
    return static_cast<double>(value);
  };
  SATCHEL_TRY_ASSIGN(yarn.ext_factor, read("rope.scaling.yarn_ext_factor", 1));
  if (yarn.ext_factor < 0) yarn.ext_factor = 1;  // how some files write "not set"
  if (!(yarn.ext_factor <= 1))
    return of.unfit("rope.scaling.yarn_ext_factor", "must be at most 1.");
  SATCHEL_TRY_ASSIGN(yarn.beta_fast, read("rope.scaling.yarn_beta_fast", 32));
  SATCHEL_TRY_ASSIGN(yarn.beta_slow, read("rope.scaling.yarn_beta_slow", 1));
  if (!(yarn.beta_slow > 0) || !(yarn.beta_fast >= yarn.beta_slow))
    return of.unfit("rope.scaling.yarn_beta_fast",
                    "must be at least yarn_beta_slow, which must be above 0.");
  yarn.slow_down(rope.inverse_frequency, base);
  SATCHEL_TRY_ASSIGN(const double all_dims, read("rope.scaling.yarn_log_multiplier", 0));
  rope.amplitude = yarn_amplitude(yarn.factor, 1) / yarn_amplitude(yarn.factor, all_dims);
  if (of.has("rope.scaling.yarn_attn_factor")) {
    SATCHEL_TRY_ASSIGN(const float given, of.number_above(0, "rope.scaling.yarn_attn_factor"));
    rope.amplitude = static_cast<double>(given);
  }
  return {};
}

// Only those that the model's context asks for need be there.
Result<void> apply_longrope(const Hyperparameters& of, const ModelConfig& config,
                            std::string_view type, ScaledRope& rope) {
  SATCHEL_TRY_ASSIGN(const std::size_t original, original_context(of, config));
  const bool is_long = config.context > original;
  const char* name = is_long ? kLongFactors : kShortFactors;
  SATCHEL_TRY(of.file().require_tensor(name));
  SATCHEL_TRY(divide_by_factors(of.file(), name, rope.inverse_frequency));
  if (!is_long || of.has("rope.scaling.attn_factor")) return {};
  const double reach = static_cast<double>(config.context) / static_cast<double>(original);
  const double border = std::log(static_cast<double>(original));
  rope.amplitude =
      type == "yarn" ? yarn_amplitude(reach, 1) : std::sqrt(1 + std::log(reach) / border);
  return {};
}

Result<void> apply_linear(const Hyperparameters& of, ScaledRope& rope) {
  SATCHEL_TRY_ASSIGN(const double factor, factor_of(of));
  for (double& frequency : rope.inverse_frequency) frequency /= factor;
  return {};
}

// LongRoPE where the file says so or has its tensors: Phi 3's do not name it, and the "yarn" of its
// first configurations is a scaling by the same factors that differs in the amplitude.
bool is_longrope(const GgufFile& file, std::string_view type) {
  const bool has_long = file.find_tensor(kLongFactors) != nullptr;
  return type == "longrope" || (has_long && (type == "none" || type == "yarn"));
}

// A tensor that is passed over would make every answer subtly wrong.
Result<void> refuse_longrope_factors(const GgufFile& file, std::string_view type) {
  for (const char* name : {kLongFactors, kShortFactors})
    if (file.find_tensor(name) != nullptr)
      return Error{ErrorKind::unsupported, "MODEL_ARCH",
                   "The model has a tensor " + quoted(name) + ", which RoPE scaling " +
                       quoted(type) + " does not use."};
  return {};
}

Result<void> apply_scaling(const Hyperparameters& of, const ModelConfig& config, double base,
                           YarnRamp ramp, ScaledRope& rope) {
  SATCHEL_TRY_ASSIGN(const std::string_view type, type_of(of));
  if (is_longrope(of.file(), type)) return apply_longrope(of, config, type, rope);
  SATCHEL_TRY(refuse_longrope_factors(of.file(), type));
  if (type == "linear") return apply_linear(of, rope);
  if (type == "yarn") return apply_yarn(of, config, base, ramp, rope);
  return {};
}

}  // namespace

std::vector<double> rope_frequencies(double base, std::size_t n_rotated) {
  std::vector<double> out;
  for (std::size_t i = 0; i < n_rotated / 2; ++i)
    out.push_back(std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(n_rotated)));
  return out;
}

Result<ScaledRope> scaled_rope(const Hyperparameters& of, const ModelConfig& config, double base,
                               std::size_t n_rotated, YarnRamp ramp) {
  ScaledRope rope{.inverse_frequency = rope_frequencies(base, n_rotated)};
  SATCHEL_TRY(apply_scaling(of, config, base, ramp, rope));
  SATCHEL_TRY(divide_by_factors(of.file(), "rope_freqs.weight", rope.inverse_frequency));
  SATCHEL_TRY_ASSIGN(const float more, of.number_above(0, "rope.scaling.attn_factor", 1.0f));
  rope.amplitude *= static_cast<double>(more);
  if (!(rope.amplitude > 0 && rope.amplitude <= kAmplitudeMost))
    return of.unfit("rope.scaling", "scales queries and keys by an impossible " +
                                        std::to_string(rope.amplitude) + ".");
  return rope;
}

void give_rope(LayerConfig& layer, const ScaledRope& rope, kernels::RopePairs pairs) {
  kvcache::LayerShape& shape = layer.attention;
  shape.rope_pairs = pairs;
  shape.inverse_frequency = rope.inverse_frequency;
  const auto longer = static_cast<float>(rope.amplitude * rope.amplitude);
  if (shape.n_rotated() == shape.head_dim)
    shape.attention_scale *= longer;
  else
    layer.rotated_scale = longer;
}

Result<void> read_rope(const Hyperparameters& of, ModelConfig& config, kernels::RopePairs pairs,
                       YarnRamp ramp) {
  SATCHEL_TRY_ASSIGN(const std::size_t n_rotated,
                     of.n_rotated(config.layers[0].attention.head_dim));
  SATCHEL_TRY_ASSIGN(const float base, of.number_above(1, "rope.freq_base", kBase));
  SATCHEL_TRY_ASSIGN(const ScaledRope rope,
                     scaled_rope(of, config, static_cast<double>(base), n_rotated, ramp));
  for (LayerConfig& layer : config.layers) give_rope(layer, rope, pairs);
  return {};
}

}  // namespace satchel::runtime
