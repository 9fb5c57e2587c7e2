// Apportionment: from real-valued shares to whole budgets with an exact sum, by floors, caps and
// the largest remainder.
#pragma once

#include <cstddef>
#include <span>

namespace satchel::kvcache {

struct TokenSpan;

// The number of tokens that all lanes keep together: the span's share, rounded.
std::size_t keep_total(const TokenSpan& span);

struct BudgetLimits {
  std::size_t total = 0;
  std::size_t n_protected = 0;  // no lane gets less; each gets exactly this if the sum of all
                                // lanes exceeds the total
  std::size_t floor = 0;        // no lane gets less, if the total allows
  std::size_t cap = 0;          // no lane gets more
};
// Changes `desired`. Surplus over a cap goes to the other lanes in proportion; a floor takes from
// the largest. Ties go to the lower lane.
void apportion(std::span<double> desired, const BudgetLimits& limits,
               std::span<std::size_t> budgets);

}  // namespace satchel::kvcache
