// Gemma: Llama's layers with gated GELU and embeddings times sqrt(width).
//   gains   GGUF files hold 1 + gain, so a norm is the usual one
//   source  arXiv:2403.08295 section 2
#include <cmath>

#include "runtime/model/block_graph.h"
#include "runtime/model/hyperparameters.h"
#include "runtime/model/rope_scaling.h"

namespace satchel::runtime {
namespace {

Result<ModelConfig> read_config(const Hyperparameters& of) {
  SATCHEL_TRY_ASSIGN(ModelConfig config, of.sizes());
  config.embedding_scale = std::sqrt(static_cast<float>(config.width));
  SATCHEL_TRY(read_rope(of, config, kernels::RopePairs::halves));
  return config;
}

constexpr BlockStyle kStyle{.activation = kernels::Activation::gelu_tanh};

}  // namespace

extern const Architecture arch_gemma{"gemma", read_config, make_block_graph<kStyle>};

}  // namespace satchel::runtime
