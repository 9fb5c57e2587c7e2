// Heavy hitters, and beside them slots in which all other tokens are mixed by a trained convolution. Listed,
// not built: the convolutions are trained together with the model.
//   formula W = (1 - η) · onehot(the most attended to among those that are no heavy hitters) + η · softmax
//           over positions of relu(conv1d([k v], kernel 21)); the slots are W · K and W · V, one convolution
//           a layer, η a trained number
//   needs   convolutions, η, and a model that was tuned with them; we know of none that were published.
//           Mixed slots have no position, and keys are mixed after RoPE, which a model that was not tuned
//           so cannot read
//   source  arXiv:2406.05317 (LoCoCo)
//   differs with η = 0 it is a selection of heavy hitters exactly, which is the recipe "h2o"
#include "kvcache/scorers/only_listed.h"

namespace satchel::kvcache {
namespace {
class LococoScorer final : public OnlyListedScorer {
  std::string_view why() const override {
    return "The scorer \"lococo\" needs convolutions that were trained together with the model "
           "(arXiv:2406.05317). Satchel knows of none for any model, so its recipe is listed and "
           "cannot be used. The recipe \"h2o\" is what it is without them.";
  }
};
}  // namespace

extern const StageEntry scorers_lococo{.kind = StageKind::scorer,
                                       .name = "lococo",
                                       .source = "arXiv:2406.05317",
                                       .make = make_stage<LococoScorer>};
}  // namespace satchel::kvcache
