// Who scored best: the one order in which every stage ranks. Larger first, then the lower index; NaN
// counts as -infinity.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace satchel::kvcache {

// The n best, as rising indices; all of them if there are fewer.
std::vector<std::size_t> best(std::span<const float> scores, std::size_t n);

// The n best over several lists together, ties to the earlier list: how many each list has of them.
// Entries of -infinity are no candidates.
void best_of_all(std::span<const std::span<const float>> lists, std::size_t n,
                 std::span<std::size_t> counts);

}  // namespace satchel::kvcache
