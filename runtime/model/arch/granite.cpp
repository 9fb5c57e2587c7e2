// Granite 3 and 4 (dense): Llama's layers with factors (granite_factors.h). With experts:
// granitemoe.
#include "runtime/model/arch/granite_factors.h"
#include "runtime/model/block_graph.h"
#include "runtime/model/rope_scaling.h"

namespace satchel::runtime {
namespace {

Result<ModelConfig> read_config(const Hyperparameters& of) {
  SATCHEL_TRY_ASSIGN(ModelConfig config, of.sizes());
  SATCHEL_TRY(read_granite_factors(of, config));
  SATCHEL_TRY(read_rope(of, config, kernels::RopePairs::adjacent));
  return config;
}

}  // namespace

extern const Architecture arch_granite{"granite", read_config, make_block_graph<BlockStyle{}>};

}  // namespace satchel::runtime
