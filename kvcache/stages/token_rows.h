// TokenRows: what small trained networks are given of each token of a chunk, in main memory.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "kernels/base/half.h"
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {

// Called with each token t of the chunk, in order, and [q k v] of it (LayerShape::selector_width):
// q and k before RoPE, all heads side by side, v in fp16 as the cache keeps it. The row is valid
// during the call.
using TakesToken = std::function<void(std::size_t t, std::span<const float> row)>;

//   needs   ScorerRequirements::pre_rope, and a prefill
Result<void> each_token(kernels::Backend& backend, const Observation& seen, const TakesToken& take);

// Sixteen sums side by side, which a compiler keeps in registers; added up in one order, always.
// For any n.
float dot_product(const float* a, const float* b, std::size_t n);

}  // namespace satchel::kvcache
