// Qwen 3: as qwen2, with norms of each head of queries and keys.
//   source  arXiv:2505.09388 section 2
#include "runtime/model/block_graph.h"
#include "runtime/model/hyperparameters.h"

namespace satchel::runtime {

extern const Architecture arch_qwen2;

namespace {

Result<ModelConfig> read_config(const Hyperparameters& of) {
  return arch_qwen2.config(of);
}

constexpr BlockStyle kStyle{.qk_norm = BlockStyle::QkNorm::of_heads};

}  // namespace

extern const Architecture arch_qwen3{"qwen3", read_config, make_block_graph<kStyle>};

}  // namespace satchel::runtime
