// Qwen 3.5 with experts (delta_hybrid.h); value heads lie as in qwen35.cpp.
#include "runtime/model/arch/delta_hybrid.h"

namespace satchel::runtime {
namespace {

Result<ModelConfig> read_config(const Hyperparameters& of) {
  return read_delta_hybrid_of_experts(of, kernels::GatedDeltaArgs::KeyHeads::tiled);
}

}  // namespace

extern const Architecture arch_qwen35moe{"qwen35moe", read_config,
                                         make_block_graph<kDeltaHybridStyle>};

}  // namespace satchel::runtime
