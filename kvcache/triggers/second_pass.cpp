// Decides when a second pass has seen a text: the pass delays no answer, as it runs while the
// machine is idle, or when memory is short, or when somebody asks.
//   params  min_tokens  shorter texts stay whole (64)
//   source  arXiv:2505.23416 (KVzip)
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {
class SecondPassTrigger final : public Trigger {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(min_tokens_,
                       params.count("min_tokens", {.fallback = 64, .min = 1, .max = 1u << 30}));
    return {};
  }
  bool fires(TriggerEvent event, std::size_t n_tokens) const override {
    const bool may_wait = event == TriggerEvent::span_read || event == TriggerEvent::turn_ended ||
                          event == TriggerEvent::steps;
    return !may_wait && n_tokens >= min_tokens_;
  }

 private:
  std::size_t min_tokens_ = 64;
};
}  // namespace

extern const StageMaker triggers_second_pass = stage_of<SecondPassTrigger>("arXiv:2505.23416");
}  // namespace satchel::kvcache
