// Gemma 2: every other layer, from the first on, sees a sliding window; soft caps of attention's
// and of the final logits; norms behind attention and feed-forward; gated GELU; embeddings times
// sqrt(width).
//   gains   GGUF files hold 1 + gain, so a norm is the usual one
//   source  arXiv:2408.00118 section 2
#include <cmath>

#include "runtime/model/arch/gemma_scale.h"
#include "runtime/model/block_graph.h"
#include "runtime/model/hyperparameters.h"
#include "runtime/model/rope_scaling.h"

namespace satchel::runtime {
namespace {

constexpr float kAttentionCap = 50, kFinalCap = 30;  // of all published models
constexpr std::size_t kWindow = 4096;
constexpr std::size_t kLayersOf27B = 46;

Result<ModelConfig> read_config(const Hyperparameters& of) {
  SATCHEL_TRY_ASSIGN(ModelConfig config, of.sizes());
  config.embedding_scale = std::sqrt(static_cast<float>(config.width));
  SATCHEL_TRY_ASSIGN(config.logit_cap, of.number_above(0, "final_logit_softcapping", kFinalCap));
  SATCHEL_TRY_ASSIGN(const float cap, of.number_above(0, "attn_logit_softcapping", kAttentionCap));
  SATCHEL_TRY_ASSIGN(const std::size_t window,
                     of.count("attention.sliding_window", UINT32_MAX, kWindow));
  SATCHEL_TRY_ASSIGN(const float scale, gemma_attention_scale(of, config, kLayersOf27B));
  for (std::size_t i = 0; i < config.n_layers(); ++i) {
    kvcache::LayerShape& shape = config.layers[i].attention;
    shape.soft_cap = cap;
    shape.attention_scale = scale;
    shape.window = i % 2 == 0 ? window : 0;
  }
  SATCHEL_TRY(read_rope(of, config, kernels::RopePairs::halves));
  return config;
}

constexpr BlockStyle kStyle{.has_norms_behind = true, .activation = kernels::Activation::gelu_tanh};

}  // namespace

extern const Architecture arch_gemma2{"gemma2", read_config, make_block_graph<kStyle>};

}  // namespace satchel::runtime
