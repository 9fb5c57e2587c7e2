// A gate before each layer's attention that lets a token's key and value into the cache or not. Listed, not
// built: the gates are trained together with the model.
//   formula flag = sigmoid(Wo' · attention with narrow Wq', Wk', Wv' over the whole text) > 0.5, for each KV
//           head; closed entries are seen by nobody, so the model has to learn to do without them
//   needs   gates, and a model that was trained on with them: by continued pre-training or fine-tuning, with
//           a loss for the share that goes and gradients straight through the threshold. We know of none
//           that were published, nor of the authors' code, and so not for sure how wide gates are and
//           how they are wired: a file of them could not be read with any certainty
//   source  arXiv:2410.12876 (Attention-Gate)
#include "kvcache/scorers/only_listed.h"

namespace satchel::kvcache {
namespace {
class AttentionGateScorer final : public OnlyListedScorer {
  std::string_view why() const override {
    return "The scorer \"attention_gate\" needs gates that were trained together with the model "
           "(arXiv:2410.12876). Satchel knows of none for any model, so its recipe is listed and "
           "cannot be used. The recipe \"compactor\" also chooses by the text alone, and needs no "
           "training.";
  }
};
}  // namespace

extern const StageEntry scorers_attention_gate{.kind = StageKind::scorer,
                                               .name = "attention_gate",
                                               .source = "arXiv:2410.12876",
                                               .make = make_stage<AttentionGateScorer>};
}  // namespace satchel::kvcache
