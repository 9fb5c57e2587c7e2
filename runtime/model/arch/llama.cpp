// Llama: RMSNorm, rotated queries and keys, grouped-query attention, gated SiLU; experts where the
// file has them. Llama 1 to 3, Mistral 7B (with its sliding window), Mixtral, Yi, SmolLM2 and
// others that GGUF files call "llama".
//   source  arXiv:2302.13971 section 2.2; 2104.09864 (RoPE); 2305.13245 (GQA); 2310.06825 (the
//           window); 2401.04088 section 2.1 (experts)
#include "runtime/model/block_graph.h"
#include "runtime/model/hyperparameters.h"
#include "runtime/model/rope_scaling.h"

namespace satchel::runtime {
namespace {

Result<ModelConfig> read_config(const Hyperparameters& of) {
  SATCHEL_TRY_ASSIGN(ModelConfig config, of.sizes());
  SATCHEL_TRY(of.read_experts(config));
  SATCHEL_TRY_ASSIGN(const std::size_t window, of.window(config));
  for (LayerConfig& layer : config.layers) layer.attention.window = window;
  SATCHEL_TRY(read_rope(of, config, kernels::RopePairs::adjacent));
  return config;
}

}  // namespace

extern const Architecture arch_llama{"llama", read_config, make_block_graph<BlockStyle{}>};

}  // namespace satchel::runtime
