// The ranking order of all stages: larger scores first, then the lower index. NaN counts as
// -infinity.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace satchel::kvcache {

// The rising indices of the n best scores, or of all if there are fewer.
std::vector<std::size_t> best(std::span<const float> scores, std::size_t n);

// Finds the n best over several lists and counts how many come from each. Ties go to the earlier
// list; -infinity is not a candidate.
void best_of_all(std::span<const std::span<const float>> lists, std::size_t n,
                 std::span<std::size_t> counts);

}  // namespace satchel::kvcache
