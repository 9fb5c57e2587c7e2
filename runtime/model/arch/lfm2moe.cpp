// LFM2 with experts: as lfm2, but for feed-forwards behind the first few, which are choices of
// experts by sigmoids (kernels::Backend::Weighting::sigmoid).
//   source  transformers' models/lfm2_moe; tensors as llama.cpp's converter names them
#include "runtime/model/arch/choice_biases.h"
#include "runtime/model/arch/lfm2_style.h"

namespace satchel::runtime {

extern const Architecture arch_lfm2;

namespace {

Result<ModelConfig> read_config(const Hyperparameters& of) {
  SATCHEL_TRY_ASSIGN(ModelConfig config, arch_lfm2.config(of));
  SATCHEL_TRY_ASSIGN(const std::size_t n_dense,
                     of.count_or_none("leading_dense_block_count", config.n_layers()));
  const std::vector<LayerConfig> without_experts = config.layers;
  SATCHEL_TRY(of.read_experts(config, kernels::Backend::Weighting::sigmoid));
  for (std::size_t i = 0; i < n_dense; ++i) config.layers[i] = without_experts[i];
  SATCHEL_TRY(read_choice_biases(of, config));
  return config;
}

}  // namespace

extern const Architecture arch_lfm2moe{"lfm2moe", read_config, make_block_graph<kLfm2Style>};

}  // namespace satchel::runtime
