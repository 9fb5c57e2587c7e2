// Qwen 3.5 with experts: qwen35.cpp; every feed-forward is a choice of experts, beside one that all
// tokens share, as far as the sigmoid of a number of the token says.
#include "runtime/model/arch/delta_hybrid.h"

namespace satchel::runtime {
namespace {

Result<ModelConfig> read_config(const Hyperparameters& of) {
  SATCHEL_TRY_ASSIGN(ModelConfig config,
                     read_delta_hybrid(of, kernels::GatedDeltaArgs::KeyHeads::tiled));
  SATCHEL_TRY(read_shared_expert(of, config));
  return config;
}

}  // namespace

extern const Architecture arch_qwen35moe{"qwen35moe", read_config,
                                         make_block_graph<kDeltaHybridStyle>};

}  // namespace satchel::runtime
