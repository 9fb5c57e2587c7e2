// Keeps the tokens with the largest scores at the recipe's first tier and evicts the rest. Ties go
// to the lower position.
//   source  arXiv:2306.14048
#include "kvcache/stages/ranking.h"
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {
class TopKAssigner final : public Assigner {
 public:
  void assign(std::span<const float> scores, std::size_t budget,
              std::span<std::uint8_t> tiers) const override {
    std::fill(tiers.begin(), tiers.end(), kGone);
    for (const std::size_t token : best(scores, budget)) tiers[token] = 0;
  }
};
}  // namespace

extern const StageMaker assigners_top_k = stage_of<TopKAssigner>("arXiv:2306.14048");
}  // namespace satchel::kvcache
