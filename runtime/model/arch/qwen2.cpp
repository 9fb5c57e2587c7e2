// Qwen 2 and 2.5: Llama's layers with biases of queries, keys and values. Their sliding window is
// switched off in every published model, and so it is here.
//   source  arXiv:2407.10671 section 2.2; 2412.15115 (Qwen 2.5, YaRN)
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

}  // namespace

extern const Architecture arch_qwen2{"qwen2", read_config, make_block_graph<BlockStyle{}>};

}  // namespace satchel::runtime
