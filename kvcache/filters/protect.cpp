// Protects both ends of a span by a score of +infinity.
//   params  sinks   first tokens of the conversation (4)
//           tail    newest tokens of the span (128)
//           recent  part of the budget that goes to the newest tokens, the tail among them (0)
//   source  ../shared/methods/selection.md rule 4.4; recent: arXiv:2411.18077, where half of the
//           budget is a recent window
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

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
    const std::size_t last = std::max(tail_, static_cast<std::size_t>(recent));
    return {.first = std::min(span.n_tokens, sinks_ - std::min(sinks_, span.first_position)),
            .last = std::min(span.n_tokens, last)};
  }

  Result<void> apply(kernels::Backend& backend, const TokenSpan& span,
                     float* scores) const override {
    const Protected ends = protects(span);
    const std::vector<float> never_evict(std::max(ends.first, ends.last),
                                         std::numeric_limits<float>::infinity());
    const auto bytes = std::as_bytes(std::span(never_evict));
    SATCHEL_TRY(backend.upload(reinterpret_cast<std::byte*>(scores),
                               bytes.first(ends.first * sizeof(float))));
    return backend.upload(reinterpret_cast<std::byte*>(scores + span.n_tokens - ends.last),
                          bytes.first(ends.last * sizeof(float)));
  }

 private:
  std::size_t sinks_ = 4, tail_ = 128;
  double recent_ = 0;
};
}  // namespace

extern const StageEntry filters_protect{.kind = StageKind::filter,
                                        .name = "protect",
                                        .source = "selection.md rule 4.4; arXiv:2411.18077",
                                        .make = make_stage<ProtectFilter>};
}  // namespace satchel::kvcache
