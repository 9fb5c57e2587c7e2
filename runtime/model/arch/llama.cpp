// Llama: RMSNorm, rotated queries and keys, grouped-query attention, gated SiLU. Llama 1 to 3,
// Mistral 7B (with its sliding window), SmolLM2 and others that GGUF files call "llama".
//   source  arXiv:2302.13971 section 2.2; arXiv:2104.09864 (RoPE); arXiv:2305.13245 (GQA);
//           Llama 3's RoPE factors as GGUF's rope_freqs.weight; arXiv:2310.06825 (the window)
#include <cmath>

#include "kernels/reference/dequant.h"
#include "runtime/model/gated_layer.h"
#include "runtime/model/hyperparameters.h"

namespace satchel::runtime {
namespace {

constexpr const char* kPairFactors = "rope_freqs.weight";

// What other graphs need and this one does not compute.
Result<void> refuse_variants(const Hyperparameters& of) {
  SATCHEL_TRY_ASSIGN(const std::uint32_t n_experts, of.file().get_u32(of.key("expert_count"), 0));
  if (n_experts != 0)
    return Error{ErrorKind::unsupported, "MODEL_ARCH",
                 "This is a mixture of " + std::to_string(n_experts) +
                     " experts, which is not supported. Supported: dense llama models."};
  return {};
}

Error unfit_factors(const std::string& what) {
  return Error{ErrorKind::corrupt, "MODEL_METADATA",
               "\"" + std::string(kPairFactors) + "\" " + what};
}

// One divisor per pair (Llama 3), where the file has them.
Result<void> divide_by_factors(const GgufFile& file, std::vector<double>& frequencies) {
  if (file.find_tensor(kPairFactors) == nullptr) return {};
  SATCHEL_TRY_ASSIGN(const GgufTensor* tensor, file.require_tensor(kPairFactors));
  if (tensor->n_values != frequencies.size() || tensor->type != kernels::WeightType::f32)
    return unfit_factors("has " + std::to_string(tensor->n_values) + " " + tensor->type_name +
                         " values, " + std::to_string(frequencies.size()) + " F32 expected.");
  std::vector<float> factors(frequencies.size());
  kernels::dequantise_row(kernels::WeightType::f32, tensor->bytes.data(), factors.size(),
                          factors.data());
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (!(factors[i] > 0) || !std::isfinite(factors[i]))
      return unfit_factors("holds a factor that is not above 0.");
    frequencies[i] /= static_cast<double>(factors[i]);
  }
  return {};
}

Result<ModelConfig> read_config(const Hyperparameters& of) {
  SATCHEL_TRY(refuse_variants(of));
  SATCHEL_TRY_ASSIGN(ModelConfig config, of.sizes());
  SATCHEL_TRY_ASSIGN(const std::size_t window,
                     of.count_or_none("attention.sliding_window", config.context));
  SATCHEL_TRY_ASSIGN(const std::size_t n_rotated,
                     of.n_rotated(config.layers[0].attention.head_dim));
  SATCHEL_TRY_ASSIGN(const float base, of.number_above(1, "rope.freq_base", 10000.0f));
  SATCHEL_TRY_ASSIGN(const double slower, of.linear_factor());
  std::vector<double> frequencies = rope_frequencies(static_cast<double>(base), n_rotated, slower);
  SATCHEL_TRY(divide_by_factors(of.file(), frequencies));
  for (LayerConfig& layer : config.layers) {
    layer.attention.window = window;
    layer.attention.inverse_frequency = frequencies;
  }
  return config;
}

class LlamaGraph final : public Graph {
 public:
  LlamaGraph(kernels::Backend& backend, const ModelConfig& config)
      : Graph(backend, config), layers_(config.n_layers()) {}

  std::vector<TensorWish> tensors() override {
    std::vector<TensorWish> wishes;
    wish_for_ends(wishes);
    wishes.push_back({.name = kPairFactors, .is_optional = true});  // read_config took them
    for (std::size_t i = 0; i < layers_.size(); ++i) wish_for_layer(i, wishes);
    return wishes;
  }

  Result<void> project(const LayerStep& step, Project what, const float* x) override {
    const GatedLayer& w = layers_[step.layer];
    const Workspace& work = step.work;
    const kernels::Backend::Projection all[] = {{w.q, work.q}, {w.k, work.k}, {w.v, work.v}};
    SATCHEL_TRY(step.go_on());
    return backend_.norm_project(x, w.attention_gain, step.batch.n_tokens, config_.norm_epsilon,
                                 work.normed,
                                 std::span(all).first(what == Project::queries ? 1 : 3));
  }

  Result<void> finish(const LayerStep& step, float* x) override {
    const GatedLayer& w = layers_[step.layer];
    const Workspace& work = step.work;
    const std::size_t n = step.batch.n_tokens;
    SATCHEL_TRY(step.go_on());
    SATCHEL_TRY(backend_.matmul(*w.attention_out, work.attended, n, work.normed));
    SATCHEL_TRY(backend_.add(x, work.normed, n * config_.width));
    SATCHEL_TRY(step.go_on());
    return backend_.feed_forward({.gain = w.ffn_gain,
                                  .gate = w.gate,
                                  .up = w.up,
                                  .down = w.down,
                                  .activation = kernels::Activation::silu,
                                  .epsilon = config_.norm_epsilon,
                                  .normed = work.normed,
                                  .gate_out = work.gate,
                                  .up_out = work.up},
                                 x, n);
  }

 private:
  void wish_for_layer(std::size_t index, std::vector<TensorWish>& wishes) {
    wish_for(layers_[index], config_, index, wishes);
    // Old converters wrote the frequencies, which the metadata give as well.
    const std::string at = layer_prefix(index);
    wishes.push_back({.name = at + "attn_rot_embd", .is_optional = true});
    wishes.push_back({.name = at + "attn.rope.freqs", .is_optional = true});
  }

  std::vector<GatedLayer> layers_;
};

std::unique_ptr<Graph> make_graph(kernels::Backend& backend, const ModelConfig& config) {
  return std::make_unique<LlamaGraph>(backend, config);
}

}  // namespace

extern const Architecture arch_llama{"llama", read_config, make_graph};

}  // namespace satchel::runtime
