#include "kvcache/stages/layer_totals.h"

#include <algorithm>
#include <vector>

#include "kvcache/stages/apportion.h"

namespace satchel::kvcache {

void totals_of_layers(const TokenSpan& span, std::size_t n_protected,
                      std::span<const double> desired, std::span<std::size_t> totals,
                      LaneFloor floor) {
  SATCHEL_ASSERT(desired.size() == span.n_layers && totals.size() == span.n_layers);
  const std::size_t total = keep_total(span);
  std::vector<double> lanes(span.n_lanes);
  for (std::size_t lane = 0; lane < lanes.size(); ++lane)
    lanes[lane] = desired[span.layer_of(lane)];
  std::vector<std::size_t> budgets(span.n_lanes);
  apportion(lanes,
            {.total = total,
             .n_protected = n_protected,
             .floor = floor == LaneFloor::none ? 0 : (total / span.n_lanes + 9) / 10,
             .cap = span.n_tokens},
            budgets);
  sum_by_layer(span, budgets, totals);
}

void sum_by_layer(const TokenSpan& span, std::span<const std::size_t> budgets,
                  std::span<std::size_t> totals) {
  std::fill(totals.begin(), totals.end(), std::size_t{0});
  for (std::size_t lane = 0; lane < budgets.size(); ++lane)
    totals[span.layer_of(lane)] += budgets[lane];
}

double mean_choice(const TokenSpan& span, std::size_t n_protected) {
  const double mean = static_cast<double>(keep_total(span)) / static_cast<double>(span.n_lanes);
  return std::max(0.0, mean - static_cast<double>(n_protected));
}

}  // namespace satchel::kvcache
