// The score kernel where queries do not count alike, or only the last ones count.
#pragma once

#include <span>

#include "kvcache/stages/stage.h"

namespace satchel::kvcache {

// As score_lanes(), with a weight for each of the observation's tokens, in main memory. Takes that
// much of the backend's memory for the call: for readings, not for decode steps.
Result<void> score_weighted(kernels::Backend& backend, const Observation& seen,
                            std::span<const ObservedLane> lanes, std::span<const float> weights);

// How many of the observation's queries, its last ones, are among the last `window` of the span.
std::size_t n_in_window(const Observation& seen, std::size_t window);

}  // namespace satchel::kvcache
