// Nemotron 3: nemotron_hybrid.h, whose feed-forwards are choices of experts by sigmoids
// (kernels::Backend::Weighting::sigmoid) beside one that all tokens share.
//   latent  experts that read a projection of the hidden state (Nemotron 3 Super) are refused
#include "runtime/model/arch/choice_biases.h"
#include "runtime/model/arch/nemotron_hybrid.h"
#include "runtime/model/arch/shared_expert.h"

namespace satchel::runtime {
namespace {

Result<ModelConfig> read_config(const Hyperparameters& of) {
  SATCHEL_TRY_ASSIGN(ModelConfig config, read_nemotron_hybrid(of));
  SATCHEL_TRY_ASSIGN(const std::size_t latent, of.count_or_none("moe_latent_size", UINT32_MAX));
  if (latent != 0)
    return Error{ErrorKind::unsupported, "MODEL_ARCH",
                 "Experts of Nemotron models that read a projection (moe_latent_size) are not "
                 "supported."};
  SATCHEL_TRY(read_experts_and_shared(of, config, kernels::Backend::Weighting::sigmoid));
  SATCHEL_TRY(read_choice_biases(of, config));
  return config;
}

}  // namespace

extern const Architecture arch_nemotron_h_moe{"nemotron_h_moe", read_config,
                                              make_block_graph<kNemotronStyle>};

}  // namespace satchel::runtime
