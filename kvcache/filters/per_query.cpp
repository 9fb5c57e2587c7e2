// Converts column sums of a prefill to means. Token j of n has been visible to n - j queries, from
// its own on; dividing by that number removes the advantage of early tokens.
//   formula score / (n - j)
//   source  arXiv:2405.14256 (ZipCache) section 4.2, normalised attention
//   differs every query of the span is a probe, where the paper takes one in ten and its code
//           divides by the wrong number of them; the last tokens, of which few queries speak, are
//           left to the protection of the tail
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

extern const StageMaker filters_per_query = stage_of<PerQueryFilter>("arXiv:2405.14256");
}  // namespace satchel::kvcache
