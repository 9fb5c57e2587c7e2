// Qwen 3: Llama's layers with norms of each head of queries and keys.
//   source  arXiv:2505.09388 section 2
#include "runtime/model/block_graph.h"
#include "runtime/model/hyperparameters.h"
#include "runtime/model/rope_scaling.h"

namespace satchel::runtime {
namespace {

Result<ModelConfig> read_config(const Hyperparameters& of) {
  SATCHEL_TRY_ASSIGN(ModelConfig config, of.sizes());
  SATCHEL_TRY(read_rope(of, config, kernels::RopePairs::halves));
  return config;
}

constexpr BlockStyle kStyle{.qk_norm = BlockStyle::QkNorm::of_heads};

}  // namespace

extern const Architecture arch_qwen3{"qwen3", read_config, make_block_graph<kStyle>};

}  // namespace satchel::runtime
