// Decides about a document when the turn that asks about it has ended: the first question is
// answered from all of the text. Until then the text waits, exact where that fits; where memory is
// short, or while the machine is idle, it is decided earlier.
//   params  min_tokens  shorter texts stay whole (256)
//   needs   memory for the whole text during the first answer
//   source  ours
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {
class EndOfTurnTrigger final : public Trigger {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(min_tokens_,
                       params.count("min_tokens", {.fallback = 256, .min = 1, .max = 1u << 30}));
    return {};
  }
  bool fires(TriggerEvent event, std::size_t n_tokens) const override {
    const bool may_wait = event == TriggerEvent::span_read || event == TriggerEvent::steps;
    return !may_wait && n_tokens >= min_tokens_;
  }

 private:
  std::size_t min_tokens_ = 256;
};
}  // namespace

extern const StageMaker triggers_end_of_turn = stage_of<EndOfTurnTrigger>("ours");
}  // namespace satchel::kvcache
