// Of the retained tokens, the best few pages' worth are held at the recipe's first tier, the next
// at its second, and so on; the rest at the tier after the last stair. With the scorer `position`
// the newest tokens are best, and each token descends the stairs as the text grows.
//   params  first, second  how many pages of 128 tokens stand on the first two stairs (8, 32), not
//                          counting protected ones, which are at the first tier; the recipe lists
//                          three codecs
//   source  The Nature of Mathematical Modeling and Probabilistic Optimization Engineering in
//           Generative AI (SAQ, staircase adaptive quantization); the widths of the stairs are
//           chosen
#include <algorithm>

#include "kvcache/stages/ranking.h"
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {
class StaircaseAssigner final : public Assigner {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(first_, params.count("first", {.fallback = 8, .min = 0, .max = 1u << 20}));
    SATCHEL_TRY_ASSIGN(second_,
                       params.count("second", {.fallback = 32, .min = 0, .max = 1u << 20}));
    return {};
  }
  void assign(std::span<const float> scores, std::size_t budget,
              std::span<std::uint8_t> tiers) const override {
    std::fill(tiers.begin(), tiers.end(), kGone);
    for (const std::size_t token : best(scores, budget)) tiers[token] = 2;
    const std::size_t upper = protected_among(scores) + first_ * kernels::kPageTokens;
    const std::size_t both = upper + second_ * kernels::kPageTokens;
    for (const std::size_t token : best(scores, std::min(budget, both))) tiers[token] = 1;
    for (const std::size_t token : best(scores, std::min(budget, upper))) tiers[token] = 0;
  }

 private:
  static std::size_t protected_among(std::span<const float> scores) {
    return static_cast<std::size_t>(std::count(scores.begin(), scores.end(), kNeverEvict));
  }

  std::size_t first_ = 8, second_ = 32;
};
}  // namespace

extern const StageMaker assigners_staircase = stage_of<StaircaseAssigner>("SAQ");
}  // namespace satchel::kvcache
