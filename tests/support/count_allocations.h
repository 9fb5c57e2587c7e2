// Counts what this program takes from the heap by operator new, all threads together, and lets one
// of them fail. Linked into any test program that asks.
#pragma once

#include <cstddef>

namespace satchel::test {

std::size_t allocations_so_far();

// While it lives, the n-th allocation of this thread from now on fails; 0 is the next.
class FailingAllocation {
 public:
  explicit FailingAllocation(std::size_t n);
  FailingAllocation(FailingAllocation&&) = delete;
  ~FailingAllocation();
};

}  // namespace satchel::test
