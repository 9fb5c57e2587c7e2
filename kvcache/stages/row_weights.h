// The score kernel with a weight per query, or for the last queries only.
#pragma once

#include <span>

#include "kvcache/stages/stage.h"

namespace satchel::kvcache {

// As score_lanes() in prefill, with a weight per token of the observation, in main memory.
//   needs  Observation::state of kWeightRows floats, the number of tokens processed at a time
inline constexpr std::size_t kWeightRows = 256;
Result<void> score_weighted(kernels::Backend& backend, const Observation& seen,
                            std::span<const ObservedLane> lanes, std::span<const float> weights);

// How many of the observation's last queries are among the last `window` tokens of the span.
std::size_t n_in_window(const Observation& seen, std::size_t window);

}  // namespace satchel::kvcache
