// Decides once for each text that is long enough, over its own tokens: a document when it has been
// read, a message when its turn has ended.
//   params  min_tokens  shorter texts stay whole (256: below, a window and the sinks are most of
//                       it)
//   source  arXiv:2411.18077 (MiniKV)
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {
class EndOfPromptTrigger final : public Trigger {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(min_tokens_,
                       params.count("min_tokens", {.fallback = 256, .min = 1, .max = 1u << 30}));
    return {};
  }
  bool fires(TriggerEvent event, std::size_t n_tokens) const override {
    return event != TriggerEvent::steps && n_tokens >= min_tokens_;
  }

 private:
  std::size_t min_tokens_ = 256;
};
}  // namespace

extern const StageMaker triggers_end_of_prompt = stage_of<EndOfPromptTrigger>("arXiv:2411.18077");
}  // namespace satchel::kvcache
