// OLMo 2 and 3: norms behind attention and feed-forward, none before; norms of queries and keys
// over all their heads together. OLMo 3 has windows, in all layers but each fourth, which alone are
// scaled.
//   source  arXiv:2501.00656 section 2.1 (OLMo 2); huggingface.co/allenai/Olmo-3-1025-7B
#include "runtime/model/block_graph.h"
#include "runtime/model/hyperparameters.h"
#include "runtime/model/rope_scaling.h"

namespace satchel::runtime {
namespace {

constexpr std::size_t kPattern = 4;  // each fourth layer is global
constexpr float kBase = 10'000.0f;   // where a file names none; all do

Result<ModelConfig> read_config(const Hyperparameters& of) {
  SATCHEL_TRY_ASSIGN(ModelConfig config, of.sizes());
  SATCHEL_TRY_ASSIGN(const std::size_t window, of.window(config));
  SATCHEL_TRY_ASSIGN(const float base, of.number_above(1, "rope.freq_base", kBase));
  SATCHEL_TRY_ASSIGN(const std::size_t n_rotated,
                     of.n_rotated(config.layers[0].attention.head_dim));
  SATCHEL_TRY_ASSIGN(const ScaledRope scaled,
                     scaled_rope(of, config, static_cast<double>(base), n_rotated));
  const ScaledRope plain{rope_frequencies(static_cast<double>(base), n_rotated)};
  for (std::size_t i = 0; i < config.n_layers(); ++i) {
    const bool is_global = window == 0 || (i + 1) % kPattern == 0;
    config.layers[i].attention.window = is_global ? 0 : window;
    give_rope(config.layers[i], is_global ? scaled : plain, kernels::RopePairs::halves);
  }
  return config;
}

constexpr BlockStyle kStyle{
    .has_norms_before = false, .has_norms_behind = true, .qk_norm = BlockStyle::QkNorm::of_rows};

}  // namespace

extern const Architecture arch_olmo2{"olmo2", read_config, make_block_graph<kStyle>};

}  // namespace satchel::runtime
