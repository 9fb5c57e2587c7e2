// Decides when a second pass has looked at a text: nobody waits for it, so it runs while the machine
// is idle, or when memory is short, or when somebody asks.
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
  bool ever_fires() const override { return true; }
  bool fires(const Moment& moment) const override {
    const bool may_wait = moment.occasion == Occasion::span_read ||
                          moment.occasion == Occasion::turn_ended ||
                          moment.occasion == Occasion::steps;
    return !may_wait && moment.n_tokens >= min_tokens_;
  }

 private:
  std::size_t min_tokens_ = 64;
};
}  // namespace

extern const StageEntry triggers_second_pass{.kind = StageKind::trigger,
                                             .name = "second_pass",
                                             .source = "arXiv:2505.23416",
                                             .make = make_stage<SecondPassTrigger>};
}  // namespace satchel::kvcache
