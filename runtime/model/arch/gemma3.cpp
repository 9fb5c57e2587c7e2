// Gemma 3, text: five layers with a sliding window and RoPE of base 10,000 to one that sees
// everything with RoPE of base 1,000,000 (slowed linearly where the file says so); norms of queries
// and keys, and behind attention and feed-forward; gated GELU; embeddings times sqrt(width).
//   gains   GGUF files hold 1 + gain, so a norm is the usual one
//   source  arXiv:2503.19786 section 2; arXiv:2408.00118 (Gemma 2: norms, windows)
#include <cmath>

#include "runtime/model/arch/gemma_scale.h"
#include "runtime/model/block_graph.h"
#include "runtime/model/hyperparameters.h"
#include "runtime/model/rope_scaling.h"

namespace satchel::runtime {
namespace {

constexpr std::size_t kPattern = 6;  // each sixth layer is global
constexpr float kGlobalBase = 1'000'000.0f, kLocalBase = 10'000.0f;
constexpr std::size_t kLayersOf27B = 62;

Result<void> refuse_caps(const Hyperparameters& of) {
  for (const char* part : {"attn_logit_softcapping", "final_logit_softcapping"}) {
    SATCHEL_TRY_ASSIGN(const float cap, of.file().get_f32(of.key(part), 0.0f));
    if (cap != 0)
      return Error{ErrorKind::unsupported, "MODEL_ARCH",
                   "\"" + of.key(part) + "\" is set as in Gemma 2, but Gemma 3 has no such cap."};
  }
  return {};
}

Result<ModelConfig> read_config(const Hyperparameters& of) {
  SATCHEL_TRY(refuse_caps(of));
  SATCHEL_TRY_ASSIGN(ModelConfig config, of.sizes());
  config.embedding_scale = std::sqrt(static_cast<float>(config.width));
  const std::size_t n_rotated = config.layers[0].attention.head_dim;
  if (n_rotated % 2 != 0) return of.unfit("attention.key_length", "is odd, but must be even.");
  SATCHEL_TRY_ASSIGN(const std::size_t window, of.count("attention.sliding_window", UINT32_MAX));
  SATCHEL_TRY_ASSIGN(const float base, of.number_above(1, "rope.freq_base", kGlobalBase));
  SATCHEL_TRY_ASSIGN(const float local_base, of.number_above(1, "rope.freq_base_swa", kLocalBase));
  SATCHEL_TRY_ASSIGN(const ScaledRope global, scaled_rope(of, config, double{base}, n_rotated));
  const ScaledRope local{rope_frequencies(double{local_base}, n_rotated)};
  SATCHEL_TRY_ASSIGN(const float scale, gemma_attention_scale(of, config, kLayersOf27B));
  for (std::size_t i = 0; i < config.n_layers(); ++i) {
    const bool is_global = (i + 1) % kPattern == 0;
    kvcache::LayerShape& shape = config.layers[i].attention;
    shape.attention_scale = scale;
    shape.window = is_global ? 0 : window;
    give_rope(config.layers[i], is_global ? global : local, kernels::RopePairs::halves);
  }
  return config;
}

constexpr BlockStyle kStyle{.has_norms_behind = true,
                            .qk_norm = BlockStyle::QkNorm::of_heads,
                            .activation = kernels::Activation::gelu_tanh};

}  // namespace

extern const Architecture arch_gemma3{"gemma3", read_config, make_block_graph<kStyle>};

}  // namespace satchel::runtime
