// Qwen 3.5 and its successors of the same kind, dense: delta_hybrid.h. Value heads lie tile by
// tile, so that head h reads key head h modulo their number.
#include "runtime/model/arch/delta_hybrid.h"

namespace satchel::runtime {
namespace {

Result<ModelConfig> read_config(const Hyperparameters& of) {
  return read_delta_hybrid(of, kernels::GatedDeltaArgs::KeyHeads::tiled);
}

}  // namespace

extern const Architecture arch_qwen35{"qwen35", read_config, make_block_graph<kDeltaHybridStyle>};

}  // namespace satchel::runtime
