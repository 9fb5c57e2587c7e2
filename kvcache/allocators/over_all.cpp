// The tokens of all lanes of all layers compete: the best scores are retained, wherever they are.
// Retrieval lanes keep nearly everything, others almost nothing.
//   source  arXiv:2505.23416 (KVzip), non-uniform budgets
//   differs exactly the total, ties by lane and position; the paper's code takes a threshold
#include <algorithm>

#include "kvcache/stages/ranking.h"
#include "kvcache/stages/share.h"
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {
class OverAllAllocator final : public Allocator {
 public:
  Scope scope() const override { return Scope::cache; }
  void lanes(const TokenSpan&, std::span<const LaneScores> lanes, std::size_t total,
             std::span<std::size_t> budgets) const override {
    // The protected rank before all others.
    best_of_all(lanes, std::max(total, n_least(lane_ranges(lanes))), budgets);
  }
};
}  // namespace

extern const StageMaker allocators_over_all = stage_of<OverAllAllocator>("arXiv:2505.23416");
}  // namespace satchel::kvcache
