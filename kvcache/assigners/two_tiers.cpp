// Of the retained tokens, those with the largest scores are held at the recipe's first tier, the
// others at its second.
//   params  fine    share of the kept tokens at the first tier (0.4)
//   source  arXiv:2405.14256 (ZipCache: salient tokens 4 bits, the rest 2; share 0.4 to 0.6),
//           arXiv:2402.18096 (MiKV)
#include <cmath>

#include "kvcache/stages/ranking.h"
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {
class TwoTiersAssigner final : public Assigner {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(fine_, params.number("fine", {.fallback = 0.4, .min = 0, .max = 1}));
    return {};
  }
  void assign(std::span<const float> scores, std::size_t budget,
              std::span<std::uint8_t> tiers) const override {
    std::fill(tiers.begin(), tiers.end(), kGone);
    for (const std::size_t token : best(scores, budget)) tiers[token] = 1;
    const auto n_fine = static_cast<std::size_t>(std::llround(fine_ * static_cast<double>(budget)));
    for (const std::size_t token : best(scores, n_fine)) tiers[token] = 0;
  }

 private:
  double fine_ = 0.4;
};
}  // namespace

extern const StageMaker assigners_two_tiers =
    stage_of<TwoTiersAssigner>("arXiv:2405.14256, arXiv:2402.18096");
}  // namespace satchel::kvcache
