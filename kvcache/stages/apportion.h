// From real-valued wishes to whole budgets: floors, caps and largest-remainder rounding, with an
// exact sum.
#pragma once

#include <cstddef>
#include <span>

namespace satchel::kvcache {

struct TokenSpan;

// What the lanes keep together: the span's share, rounded to whole tokens.
std::size_t keep_total(const TokenSpan& span);

struct BudgetLimits {
  std::size_t total = 0;
  std::size_t n_protected = 0;  // no lane gets less; if all lanes' exceed the total, exactly this
  std::size_t floor = 0;        // no lane gets less, if the total allows
  std::size_t cap = 0;          // no lane gets more
};
// wishes are changed on the way. Surplus over a cap goes to the others in proportion; what a floor
// takes comes from the largest. Ties go to the lower lane.
void apportion(std::span<double> wishes, const BudgetLimits& limits,
               std::span<std::size_t> budgets);

}  // namespace satchel::kvcache
