// Selects once for each prompt that is long enough, over its own tokens, when it has been read.
//   params  min_tokens  shorter prompts stay whole (256)
//   source  arXiv:2411.18077 (MiniKV); minimum: ../shared/methods/selection.md rule 4.5
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
  bool ever_fires() const override { return true; }
  bool fires_after_prompt(std::size_t n_new_tokens) const override {
    return n_new_tokens >= min_tokens_;
  }

 private:
  std::size_t min_tokens_ = 256;
};
}  // namespace

extern const StageEntry triggers_end_of_prompt{.kind = StageKind::trigger,
                                               .name = "end_of_prompt",
                                               .source = "arXiv:2411.18077",
                                               .make = make_stage<EndOfPromptTrigger>};
}  // namespace satchel::kvcache
