// gpt-oss: layers with a sliding window alternate with layers that see everything; each head has a
// sink logit; YaRN; biases in every projection; every feed-forward is a choice of experts, weighed
// by a softmax over the chosen, with a clamped gate.
//   yarn    its ramp begins and ends between pairs, which files do not say (llama.cpp rounds it)
//   source  arXiv:2508.10925 section 2; transformers, models/gpt_oss
#include "runtime/model/arch/small_tensor.h"
#include "runtime/model/block_graph.h"
#include "runtime/model/hyperparameters.h"
#include "runtime/model/rope_scaling.h"

namespace satchel::runtime {
namespace {

constexpr std::size_t kPattern = 2;  // the first layer of two has the window

Result<ModelConfig> read_config(const Hyperparameters& of) {
  SATCHEL_TRY_ASSIGN(ModelConfig config, of.sizes());
  SATCHEL_TRY_ASSIGN(const std::size_t window, of.window(config));
  SATCHEL_TRY(of.read_experts(config));
  SATCHEL_TRY(read_rope(of, config, kernels::RopePairs::halves, YarnRamp::between_pairs));
  for (std::size_t i = 0; i < config.n_layers(); ++i) {
    kvcache::LayerShape& shape = config.layers[i].attention;
    if (i % kPattern == 0) shape.window = window;
    SATCHEL_TRY_ASSIGN(shape.sink_logits, small_tensor(of.file(), i, kSinksTensor, shape.n_heads));
  }
  return config;
}

constexpr BlockStyle kStyle{.ffn_norm = BlockStyle::FfnNorm::post_attention,
                            .activation = kernels::Activation::clamped_silu};

}  // namespace

extern const Architecture arch_gpt_oss{"gpt-oss", read_config, make_block_graph<kStyle>};

}  // namespace satchel::runtime
