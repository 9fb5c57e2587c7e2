// What an allocator does that says nothing else: all lanes alike.
#include <algorithm>
#include <vector>

#include "kvcache/stages/layer_totals.h"
#include "kvcache/stages/share.h"
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {

void Allocator::totals(const TokenSpan& span, std::size_t n_protected,
                       std::span<std::size_t> totals) const {
  totals_of_layers(span, n_protected, std::vector<double>(span.n_layers, 1), totals,
                   LaneFloor::none);
}

// What one lane can't take goes to the next ones, ties to the lower lane.
void Allocator::lanes(const TokenSpan&, std::span<const LaneScores> lanes, std::size_t total,
                      std::span<std::size_t> budgets) const {
  const std::vector<LaneRange> ranges = lane_ranges(lanes);
  for (std::size_t i = 0; i < lanes.size(); ++i) budgets[i] = ranges[i].least;
  std::size_t level = 0;  // everyone gets up to this many
  std::size_t left = total - std::min(total, n_least(ranges));
  while (left > 0) {
    bool any = false;
    ++level;
    for (std::size_t i = 0; i < lanes.size() && left > 0; ++i) {
      if (budgets[i] >= level || budgets[i] >= ranges[i].most) {
        any = any || budgets[i] < ranges[i].most;
        continue;
      }
      ++budgets[i];
      --left;
      any = true;
    }
    if (!any) return;
  }
}

}  // namespace satchel::kvcache
