// Protects both ends of a text, whatever their scores.
//   params  sinks   first tokens of the conversation (4)
//           tail    newest tokens of the whole text (128)
//           recent  part of the budget that goes to the span's newest tokens, the tail among them
//                   (0)
//   source  sinks: arXiv:2309.17453; recent: arXiv:2411.18077, where half of the budget is a
//           recent window
#include <algorithm>

#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {
class ProtectFilter final : public Filter {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(sinks_, params.count("sinks", {.fallback = 4, .min = 0, .max = 1u << 20}));
    SATCHEL_TRY_ASSIGN(tail_, params.count("tail", {.fallback = 128, .min = 0, .max = 1u << 20}));
    SATCHEL_TRY_ASSIGN(recent_, params.number("recent", {.fallback = 0, .min = 0, .max = 1}));
    return {};
  }

  Protected protects(const TokenSpan& span) const override {
    const double recent = recent_ * span.keep * static_cast<double>(span.n_tokens);
    const std::size_t tail = tail_ - std::min(tail_, span.n_after);
    const std::size_t last = std::max(tail, static_cast<std::size_t>(recent));
    return {.first = std::min(span.n_tokens, sinks_ - std::min(sinks_, span.first_position)),
            .last = std::min(span.n_tokens, last)};
  }
  void apply(const TokenSpan&, std::span<float>) const override {}

 private:
  std::size_t sinks_ = 4, tail_ = 128;
  double recent_ = 0;
};
}  // namespace

extern const StageMaker filters_protect =
    stage_of<ProtectFilter>("arXiv:2309.17453, arXiv:2411.18077");
}  // namespace satchel::kvcache
