#include "kvcache/stages/apportion.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kvcache/stages/share.h"
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {

double sum(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// Scales what is desired below `cap` until all together are `total`; each round at least one more
// meets its cap, so at most size() + 1 rounds.
void spread_below_cap(std::span<double> desired, double total, double cap) {
  for (std::size_t round = 0; round <= desired.size(); ++round) {
    double free = 0, capped = 0;
    for (const double each : desired) (each >= cap ? capped : free) += each >= cap ? cap : each;
    const double scale = free > 0 ? (total - capped) / free : 1;
    bool stable = true;
    for (double& each : desired) {
      each = each >= cap ? cap : each * scale;
      if (each > cap) stable = false;
    }
    if (stable) return;
  }
}

// Raises to `floor` and lowers the largest to one level, so that the sum stays.
void level_above_floor(std::span<double> desired, double floor) {
  const double total = sum(desired);
  std::vector<double> sorted(desired.begin(), desired.end());
  for (double& each : sorted) each = std::max(each, floor);
  double excess = sum(sorted) - total;
  if (excess <= 0) return;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  double level = sorted.front();
  for (std::size_t n = 1; n <= sorted.size() && excess > 0; ++n) {  // n largest share the level
    const double next = n < sorted.size() ? sorted[n] : floor;
    const double step = std::min(excess, (level - next) * static_cast<double>(n));
    level -= step / static_cast<double>(n);
    excess -= step;
  }
  for (double& each : desired) each = std::min(std::max(each, floor), level);
}

}  // namespace

std::size_t keep_total(const TokenSpan& span) {
  const std::size_t all = span.n_tokens * span.n_lanes;
  const double share = span.keep * static_cast<double>(all);
  return std::min(all, static_cast<std::size_t>(std::llround(share)));
}

void apportion(std::span<double> desired, const BudgetLimits& limits,
               std::span<std::size_t> budgets) {
  SATCHEL_ASSERT(desired.size() == budgets.size() && !desired.empty());
  SATCHEL_ASSERT(limits.total <= limits.cap * desired.size());
  const std::size_t least = std::min(limits.cap, std::max(limits.n_protected, limits.floor));
  if (least * desired.size() >= limits.total) {
    std::fill(budgets.begin(), budgets.end(), std::min(limits.cap, least));
    return;
  }
  const double all = sum(desired);
  for (double& each : desired) each *= static_cast<double>(limits.total) / all;
  spread_below_cap(desired, static_cast<double>(limits.total), static_cast<double>(limits.cap));
  level_above_floor(desired, static_cast<double>(least));
  share_out(desired, std::vector(desired.size(), limits.cap), limits.total, budgets);
}

}  // namespace satchel::kvcache
