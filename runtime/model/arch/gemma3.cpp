// Gemma 3, text: five layers with a sliding window and RoPE of base 10,000 to one that sees
// everything with RoPE of base 1,000,000 (slowed linearly where the file says so); norms of queries
// and keys, and behind attention and feed-forward; gated GELU; embeddings times sqrt(width).
//   gains   GGUF files hold 1 + gain, so a norm is the usual one
//   source  arXiv:2503.19786 section 2; arXiv:2408.00118 (Gemma 2: norms, windows)
#include <cmath>

#include "runtime/model/gated_layer.h"
#include "runtime/model/hyperparameters.h"

namespace satchel::runtime {
namespace {

constexpr std::size_t kPattern = 6;  // each sixth layer is global
constexpr float kGlobalBase = 1'000'000.0f, kLocalBase = 10'000.0f;
// The 27B model alone scales by 1 / sqrt(width / n_heads); files do not say so, the depth does.
constexpr std::size_t kLayersOf27B = 62;

Result<void> refuse_caps(const Hyperparameters& of) {
  for (const char* part : {"attn_logit_softcapping", "final_logit_softcapping"}) {
    SATCHEL_TRY_ASSIGN(const float cap, of.file().get_f32(of.key(part), 0.0f));
    if (cap != 0)
      return Error{ErrorKind::unsupported, "MODEL_ARCH",
                   "\"" + of.key(part) + "\" is set, as in Gemma 2; Gemma 3 has no such cap."};
  }
  return {};
}

Result<float> attention_scale(const Hyperparameters& of, const ModelConfig& config) {
  const kvcache::LayerShape& shape = config.layers[0].attention;
  float usual = shape.attention_scale;
  if (config.n_layers() == kLayersOf27B)
    usual = static_cast<float>(
        std::sqrt(static_cast<double>(shape.n_heads) / static_cast<double>(config.width)));
  return of.number_above(0, "attention.scale", usual);
}

Result<ModelConfig> read_config(const Hyperparameters& of) {
  SATCHEL_TRY(refuse_caps(of));
  SATCHEL_TRY_ASSIGN(ModelConfig config, of.sizes());
  const std::size_t n_rotated = config.layers[0].attention.head_dim;
  if (n_rotated % 2 != 0) return of.unfit("attention.key_length", "is odd.");
  SATCHEL_TRY_ASSIGN(const std::size_t window, of.count("attention.sliding_window", UINT32_MAX));
  SATCHEL_TRY_ASSIGN(const float base, of.number_above(1, "rope.freq_base", kGlobalBase));
  SATCHEL_TRY_ASSIGN(const float local_base, of.number_above(1, "rope.freq_base_swa", kLocalBase));
  SATCHEL_TRY_ASSIGN(const double slower, of.linear_factor());
  SATCHEL_TRY_ASSIGN(const float scale, attention_scale(of, config));
  for (std::size_t i = 0; i < config.n_layers(); ++i) {
    const bool is_global = (i + 1) % kPattern == 0;
    kvcache::LayerShape& shape = config.layers[i].attention;
    shape.attention_scale = scale;
    shape.window = is_global ? 0 : window;
    shape.rope_pairs = kernels::RopePairs::halves;
    shape.inverse_frequency = is_global ? rope_frequencies(double{base}, n_rotated, slower)
                                        : rope_frequencies(double{local_base}, n_rotated, 1);
  }
  return config;
}

struct Gemma3Layer : GatedLayer {
  const float *after_attention_gain = nullptr, *after_ffn_gain = nullptr;  // [width]
  const float *q_gain = nullptr, *k_gain = nullptr;                        // [head_dim]
};

class Gemma3Graph final : public Graph {
 public:
  Gemma3Graph(kernels::Backend& backend, const ModelConfig& config)
      : Graph(backend, config), layers_(config.n_layers()) {}

  std::vector<TensorWish> tensors() override {
    std::vector<TensorWish> wishes;
    wish_for_ends(wishes);
    for (std::size_t i = 0; i < layers_.size(); ++i) wish_for_layer(i, wishes);
    return wishes;
  }

  Result<void> embed(std::span<const std::int32_t> ids, float* x) override {
    SATCHEL_TRY(Graph::embed(ids, x));
    const float factor = std::sqrt(static_cast<float>(config_.width));
    return backend_.scale(x, factor, ids.size() * config_.width);
  }

  Result<void> project(const LayerStep& step, Project what, const float* x) override {
    const Gemma3Layer& w = layers_[step.layer];
    const kvcache::LayerShape& shape = layer(step).attention;
    const Workspace& work = step.work;
    const std::size_t n = step.batch.n_tokens;
    const bool only_queries = what == Project::queries;
    const kernels::Backend::Projection all[] = {{w.q, work.q}, {w.k, work.k}, {w.v, work.v}};
    SATCHEL_TRY(step.go_on());
    SATCHEL_TRY(backend_.norm_project(x, w.attention_gain, n, config_.norm_epsilon, work.normed,
                                      std::span(all).first(only_queries ? 1 : 3)));
    SATCHEL_TRY(step.go_on());
    SATCHEL_TRY(backend_.rms_norm(work.q, w.q_gain, n * shape.n_heads, shape.head_dim,
                                  config_.norm_epsilon, work.q));
    if (only_queries) return {};
    return backend_.rms_norm(work.k, w.k_gain, n * shape.n_kv_heads, shape.head_dim,
                             config_.norm_epsilon, work.k);
  }

  Result<void> finish(const LayerStep& step, float* x) override {
    const Gemma3Layer& w = layers_[step.layer];
    const Workspace& work = step.work;
    const std::size_t n = step.batch.n_tokens;
    SATCHEL_TRY(step.go_on());
    SATCHEL_TRY(backend_.matmul(*w.attention_out, work.attended, n, work.normed));
    SATCHEL_TRY(add_normed(w.after_attention_gain, n, work, x));
    SATCHEL_TRY(step.go_on());
    const kernels::Backend::Projection up[] = {{w.gate, work.gate}, {w.up, work.up}};
    SATCHEL_TRY(backend_.norm_project(x, w.ffn_gain, n, config_.norm_epsilon, work.normed, up));
    SATCHEL_TRY(step.go_on());
    SATCHEL_TRY(backend_.gated(kernels::Activation::gelu_tanh, work.gate, work.up,
                               n * layer(step).ffn_width));
    SATCHEL_TRY(backend_.matmul(*w.down, work.gate, n, work.normed));
    return add_normed(w.after_ffn_gain, n, work, x);
  }

 private:
  // x += rms_norm(work.normed)
  Result<void> add_normed(const float* gain, std::size_t n, const Workspace& work, float* x) {
    SATCHEL_TRY(
        backend_.rms_norm(work.normed, gain, n, config_.width, config_.norm_epsilon, work.normed));
    return backend_.add(x, work.normed, n * config_.width);
  }

  void wish_for_layer(std::size_t index, std::vector<TensorWish>& wishes) {
    Gemma3Layer& w = layers_[index];
    wish_for(w, config_, index, wishes);
    const std::string at = layer_prefix(index);
    const auto gain = [&](const char* name, std::size_t n, const float*& to) {
      wishes.push_back({.name = at + name, .n_in = n, .vector = &to});
    };
    const std::size_t width = config_.width, head_dim = config_.layers[index].attention.head_dim;
    gain("attn_q_norm.weight", head_dim, w.q_gain);
    gain("attn_k_norm.weight", head_dim, w.k_gain);
    gain("post_attention_norm.weight", width, w.after_attention_gain);
    gain("post_ffw_norm.weight", width, w.after_ffn_gain);
  }

  std::vector<Gemma3Layer> layers_;
};

std::unique_ptr<Graph> make_graph(kernels::Backend& backend, const ModelConfig& config) {
  return std::make_unique<Gemma3Graph>(backend, config);
}

}  // namespace

extern const Architecture arch_gemma3{"gemma3", read_config, make_graph};

}  // namespace satchel::runtime
