// Turns column sums of a reading into means: a token at place j of n has been seen by the n - j
// queries from its own on, so that early tokens do not win because more looked at them.
//   formula score / (n - j)
//   source  arXiv:2405.14256 (ZipCache) section 4.2, normalised attention
//   differs every query of the span is a probe, where the paper takes one in ten and its code divides
//           by the wrong number of them; the last tokens, of which few queries speak, are left to the
//           protection of the tail
#include <cmath>

#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {
class PerQueryFilter final : public Filter {
 public:
  void apply(const TokenSpan&, std::span<float> scores) const override {
    for (std::size_t t = 0; t < scores.size(); ++t)
      if (std::isfinite(scores[t])) scores[t] /= static_cast<float>(scores.size() - t);
  }
};
}  // namespace

extern const StageEntry filters_per_query{.kind = StageKind::filter,
                                          .name = "per_query",
                                          .source = "arXiv:2405.14256",
                                          .make = make_stage<PerQueryFilter>};
}  // namespace satchel::kvcache
