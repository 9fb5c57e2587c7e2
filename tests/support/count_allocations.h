// Counts what this program takes from the heap by operator new, all threads together. Linked into
// any test program that asks.
#pragma once

#include <cstddef>

namespace satchel::test {

std::size_t allocations_so_far();

}  // namespace satchel::test
