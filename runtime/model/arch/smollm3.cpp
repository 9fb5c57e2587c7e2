// SmolLM3: Llama's layers; in every fourth, queries and keys are not rotated.
//   source  huggingface.co/blog/smollm3, "Architecture"; arXiv:2501.18795 (layers without RoPE)
#include "runtime/model/block_graph.h"
#include "runtime/model/hyperparameters.h"
#include "runtime/model/rope_scaling.h"

namespace satchel::runtime {
namespace {

constexpr std::size_t kPattern = 4;  // files do not say so

Result<ModelConfig> read_config(const Hyperparameters& of) {
  SATCHEL_TRY_ASSIGN(ModelConfig config, of.sizes());
  const std::vector<LayerConfig> without_rope = config.layers;
  SATCHEL_TRY(read_rope(of, config, kernels::RopePairs::adjacent));
  // Where nothing turns, neither does RoPE's scaling lengthen queries and keys.
  for (std::size_t i = kPattern - 1; i < config.n_layers(); i += kPattern)
    config.layers[i] = without_rope[i];
  return config;
}

}  // namespace

extern const Architecture arch_smollm3{"smollm3", read_config, make_block_graph<BlockStyle{}>};

}  // namespace satchel::runtime
