// Decides after a text's prefill, and again over all text so far whenever the tails are flushed
// while decoding.
//   params  min_tokens  shorter texts stay whole (256)
//   source  arXiv:2306.14048 (H2O), arXiv:2401.06104 (TOVA)
//   differs every 128 steps, when tails are flushed, where the papers decide at every step: between
//           two flushes the newest tokens are protected anyway
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {
class EveryFlushTrigger final : public Trigger {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(min_tokens_,
                       params.count("min_tokens", {.fallback = 256, .min = 1, .max = 1u << 30}));
    return {};
  }
  bool fires(TriggerEvent, std::size_t n_tokens) const override { return n_tokens >= min_tokens_; }

 private:
  std::size_t min_tokens_ = 256;
};
}  // namespace

extern const StageMaker triggers_every_flush =
    stage_of<EveryFlushTrigger>("arXiv:2306.14048, arXiv:2401.06104");
}  // namespace satchel::kvcache
