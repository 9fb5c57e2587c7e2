// Evicts what scores too little, even where the budget has room for it: how much of a text stays
// follows from its scores, and the recipe's share is the most. 0 is no score: such a token competes
// for the budget as ever.
//   params  least  of the score of a token that may stay (0.5)
//   source  arXiv:2410.12876 (Attention-Gate)
#include <cmath>

#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {
class ThresholdFilter final : public Filter {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(least_, params.number("least", {.fallback = 0.5, .min = 0, .max = 1e6}));
    return {};
  }
  void apply(const TokenSpan&, std::span<float> scores) const override {
    for (float& score : scores)
      if (std::isfinite(score) && score != 0 && static_cast<double>(score) < least_)
        score = kNotThere;
  }

 private:
  double least_ = 0.5;
};
}  // namespace

extern const StageMaker filters_threshold = stage_of<ThresholdFilter>("arXiv:2410.12876");
}  // namespace satchel::kvcache
