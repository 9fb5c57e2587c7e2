// Qwen3-Next: as qwen35moe.cpp, but value heads lie key head by key head, and one tensor has two
// numbers of each.
#include "runtime/model/arch/delta_hybrid.h"

namespace satchel::runtime {
namespace {

Result<ModelConfig> read_config(const Hyperparameters& of) {
  return read_delta_hybrid_of_experts(of, kernels::GatedDeltaArgs::KeyHeads::grouped);
}

}  // namespace

extern const Architecture arch_qwen3next{"qwen3next", read_config,
                                         make_block_graph<kDeltaHybridStyle>};

}  // namespace satchel::runtime
