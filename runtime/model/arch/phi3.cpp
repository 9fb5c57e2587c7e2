// Phi 3, 3.5 and 4 (text): Llama's layers with queries, keys and values in one tensor, gate and up
// in another; LongRoPE in the models of 128k, of which Phi 4 mini turns three quarters of a head; a
// sliding window where the file has one (llama.cpp passes over it).
//   source  arXiv:2404.14219 section 2; 2402.13753 (LongRoPE); 2503.01743 (Phi 4 mini)
#include "runtime/model/block_graph.h"
#include "runtime/model/hyperparameters.h"
#include "runtime/model/rope_scaling.h"

namespace satchel::runtime {
namespace {

Result<ModelConfig> read_config(const Hyperparameters& of) {
  SATCHEL_TRY_ASSIGN(ModelConfig config, of.sizes());
  SATCHEL_TRY_ASSIGN(const std::size_t window, of.window(config));
  for (LayerConfig& layer : config.layers) layer.attention.window = window;
  SATCHEL_TRY(read_rope(of, config, kernels::RopePairs::halves));
  return config;
}

constexpr BlockStyle kStyle{.is_fused = true};

}  // namespace

extern const Architecture arch_phi3{"phi3", read_config, make_block_graph<kStyle>};

}  // namespace satchel::runtime
