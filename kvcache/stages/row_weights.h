// The score kernel where queries do not count alike, or only the last ones count.
#pragma once

#include <span>

#include "kvcache/stages/stage.h"

namespace satchel::kvcache {

// As score_lanes(), of a reading, with a weight for each of the observation's tokens, in main memory.
//   needs  Observation::state of kWeightRows floats: so many tokens at a time
inline constexpr std::size_t kWeightRows = 256;
Result<void> score_weighted(kernels::Backend& backend, const Observation& seen,
                            std::span<const ObservedLane> lanes, std::span<const float> weights);

// How many of the observation's queries, its last ones, are among the last `window` of the span.
std::size_t n_in_window(const Observation& seen, std::size_t window);

}  // namespace satchel::kvcache
