// Qwen 3 with experts: as qwen3, every layer's feed-forward a choice of experts (of 128 the 8 that
// the router likes best), weighed by a softmax over the chosen.
//   source  arXiv:2505.09388 section 2
#include "runtime/model/block_graph.h"
#include "runtime/model/hyperparameters.h"

namespace satchel::runtime {

extern const Architecture arch_qwen2;

namespace {

Result<ModelConfig> read_config(const Hyperparameters& of) {
  SATCHEL_TRY_ASSIGN(ModelConfig config, arch_qwen2.config(of));
  SATCHEL_TRY(of.read_experts(config));
  return config;
}

constexpr BlockStyle kStyle{.qk_norm = BlockStyle::QkNorm::of_heads};

}  // namespace

extern const Architecture arch_qwen3moe{"qwen3moe", read_config, make_block_graph<kStyle>};

}  // namespace satchel::runtime
