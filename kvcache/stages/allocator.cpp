// What an allocator does that says nothing else: all lanes alike.
#include <algorithm>
#include <vector>

#include "kvcache/stages/apportion.h"
#include "kvcache/stages/share.h"
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {

void Allocator::totals(const TokenSpan& span, std::size_t n_protected,
                       std::span<std::size_t> totals) const {
  std::vector<double> desired(span.n_lanes, 1);
  std::vector<std::size_t> budgets(span.n_lanes);
  apportion(
      desired,
      {.total = keep_total(span), .n_protected = n_protected, .floor = 0, .cap = span.n_tokens},
      budgets);
  const std::size_t of_layer = span.n_lanes / span.n_layers;
  std::fill(totals.begin(), totals.end(), std::size_t{0});
  for (std::size_t lane = 0; lane < budgets.size(); ++lane)
    totals[std::min(lane / of_layer, span.n_layers - 1)] += budgets[lane];
}

// What one lane can't take goes to the next ones, ties to the lower lane.
void Allocator::lanes(const TokenSpan&, std::span<const LaneScores> lanes, std::size_t total,
                      std::span<std::size_t> budgets) const {
  std::vector<std::size_t> least(lanes.size()), most(lanes.size());
  std::size_t n_least = 0;
  for (std::size_t i = 0; i < lanes.size(); ++i) {
    const LaneRange range = lane_range(lanes[i]);
    least[i] = range.least;
    most[i] = range.most;
    budgets[i] = least[i];
    n_least += least[i];
  }
  std::size_t level = 0;  // everyone gets up to this many
  std::size_t left = total - std::min(total, n_least);
  while (left > 0) {
    bool any = false;
    ++level;
    for (std::size_t i = 0; i < lanes.size() && left > 0; ++i) {
      if (budgets[i] >= level || budgets[i] >= most[i]) {
        any = any || (budgets[i] < most[i]);
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
