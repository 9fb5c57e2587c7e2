// Ministral 3: Llama's layers with YaRN. Beyond the original context the model also lengthens
// queries by their position, which Satchel does not compute: such files are read within that
// context only, where the factor is exactly 1.
//   source  huggingface.co/mistralai, model cards of Ministral 3; arXiv:2501.19399 (the factor)
#include <algorithm>

#include "runtime/model/block_graph.h"
#include "runtime/model/hyperparameters.h"

namespace satchel::runtime {

extern const Architecture arch_llama;

namespace {

Result<ModelConfig> read_config(const Hyperparameters& of) {
  SATCHEL_TRY_ASSIGN(ModelConfig config, arch_llama.config(of));
  SATCHEL_TRY_ASSIGN(const float temperature,
                     of.file().get_f32(of.key("attention.temperature_scale"), 0.0f));
  if (temperature == 0) return config;
  SATCHEL_TRY_ASSIGN(const std::size_t original,
                     of.count("rope.scaling.original_context_length", UINT32_MAX, config.context));
  config.context = std::min(config.context, original);
  return config;
}

}  // namespace

extern const Architecture arch_mistral3{"mistral3", read_config, make_block_graph<BlockStyle{}>};

}  // namespace satchel::runtime
