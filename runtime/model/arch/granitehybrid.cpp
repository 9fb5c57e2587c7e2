// Granite 4 H: most layers are Mamba-2, the others attention, which rotates nothing unless the file
// says so; Granite's factors. A feed-forward, or experts beside one that all tokens share.
//   source  huggingface.co/ibm-granite, model cards; transformers' models/granitemoehybrid; tensors
//           as llama.cpp's converter names them
#include "runtime/model/arch/granite_factors.h"
#include "runtime/model/arch/mamba_hybrid.h"
#include "runtime/model/arch/shared_expert.h"
#include "runtime/model/block_graph.h"
#include "runtime/model/rope_scaling.h"

namespace satchel::runtime {
namespace {

Result<ModelConfig> read_config(const Hyperparameters& of) {
  SATCHEL_TRY_ASSIGN(ModelConfig config, of.sizes_of_hybrid());
  SATCHEL_TRY(read_granite_factors(of, config));
  // Not said: it rotates, as llama.cpp reads it.
  SATCHEL_TRY_ASSIGN(const bool rotates,
                     of.file().get_bool(of.key("rope.scaling.finetuned"), true));
  if (rotates) SATCHEL_TRY(read_rope(of, config, kernels::RopePairs::adjacent));
  SATCHEL_TRY(read_mamba_layers(of, config));
  SATCHEL_TRY(read_experts_and_shared(of, config, kernels::Backend::Weighting::softmax));
  return config;
}

constexpr BlockStyle kStyle{.has_shared_router = false};

}  // namespace

extern const Architecture arch_granitehybrid{"granitehybrid", read_config,
                                             make_block_graph<kStyle>};

}  // namespace satchel::runtime
