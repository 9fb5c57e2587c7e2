// LFM2 and LFM2.5: most layers are gated short convolutions; the others are attention with norms of
// each head of queries and keys. A layer without KV heads is a convolution.
//   source  arXiv:2511.23404; transformers' models/lfm2; tensors as llama.cpp's converter names
//           them
#include "runtime/model/arch/lfm2_style.h"
#include "runtime/model/hyperparameters.h"
#include "runtime/model/rope_scaling.h"

namespace satchel::runtime {
namespace {

constexpr std::size_t kTapsMax = 64;  // chosen: models have 3

// What a convolution carries on is all but one of the inputs that it sees.
void make_convolution(LayerConfig& layer, std::size_t width, std::size_t n_taps) {
  layer.attention = {};
  layer.conv_taps = n_taps;
  layer.n_state = layer.n_state_tail = (n_taps - 1) * width;
}

Result<ModelConfig> read_config(const Hyperparameters& of) {
  SATCHEL_TRY_ASSIGN(ModelConfig config, of.sizes_of_hybrid());
  SATCHEL_TRY_ASSIGN(const std::size_t n_taps, of.count("shortconv.l_cache", kTapsMax));
  if (n_taps < 2) return of.unfit("shortconv.l_cache", "must be at least 2.");
  SATCHEL_TRY_ASSIGN(const std::size_t window, of.window(config));
  if (window != 0)
    return Error{ErrorKind::unsupported, "MODEL_ARCH",
                 "LFM2 models with a sliding window are not supported."};
  SATCHEL_TRY(read_rope(of, config, kernels::RopePairs::halves));
  std::size_t n_attention = 0;
  for (LayerConfig& layer : config.layers) {
    n_attention += layer.attention.n_kv_heads > 0 ? 1u : 0u;
    if (layer.attention.n_kv_heads == 0) make_convolution(layer, config.width, n_taps);
  }
  if (n_attention == 0) return of.unfit("attention.head_count_kv", "leaves no layer attention.");
  return config;
}

}  // namespace

extern const Architecture arch_lfm2{"lfm2", read_config, make_block_graph<kLfm2Style>};

}  // namespace satchel::runtime
