// Granite 3 with experts: as granite, with Mixtral's choice of experts.
//   source  huggingface.co/ibm-granite, model cards
#include "runtime/model/block_graph.h"
#include "runtime/model/hyperparameters.h"

namespace satchel::runtime {

extern const Architecture arch_granite;

namespace {

Result<ModelConfig> read_config(const Hyperparameters& of) {
  SATCHEL_TRY_ASSIGN(ModelConfig config, arch_granite.config(of));
  SATCHEL_TRY(of.read_experts(config));
  return config;
}

}  // namespace

extern const Architecture arch_granitemoe{"granitemoe", read_config,
                                          make_block_graph<BlockStyle{}>};

}  // namespace satchel::runtime
