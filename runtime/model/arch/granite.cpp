// Granite 3 and 4 (dense): Llama's layers with factors: of embeddings, of attention (in place of
// 1 / sqrt(head_dim)), of what each half of a layer adds; and a divisor of logits. With experts:
// granitemoe.
//   source  huggingface.co/ibm-granite, model cards; arXiv:2203.03466 (muP, where the factors
//           come from)
#include "runtime/model/block_graph.h"
#include "runtime/model/hyperparameters.h"
#include "runtime/model/rope_scaling.h"

namespace satchel::runtime {
namespace {

Result<ModelConfig> read_config(const Hyperparameters& of) {
  SATCHEL_TRY_ASSIGN(ModelConfig config, of.sizes());
  SATCHEL_TRY_ASSIGN(config.embedding_scale, of.number_above(0, "embedding_scale", 1.0f));
  SATCHEL_TRY_ASSIGN(config.residual_scale, of.number_above(0, "residual_scale", 1.0f));
  SATCHEL_TRY_ASSIGN(const float divisor, of.number_above(0, "logit_scale", 1.0f));
  config.logit_scale = 1 / divisor;
  const float usual = config.layers[0].attention.attention_scale;
  SATCHEL_TRY_ASSIGN(const float scale, of.number_above(0, "attention.scale", usual));
  for (LayerConfig& layer : config.layers) layer.attention.attention_scale = scale;
  SATCHEL_TRY(read_rope(of, config, kernels::RopePairs::adjacent));
  return config;
}

}  // namespace

extern const Architecture arch_granite{"granite", read_config, make_block_graph<BlockStyle{}>};

}  // namespace satchel::runtime
