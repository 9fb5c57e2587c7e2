// Keys as a lane holds them, decoded and rotated back to before RoPE: what is learned from keys,
// and what a scorer can say of text whose queries are long gone.
//   threads  not while a prefill is open; works in the cache's scratch of compaction
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "kvcache/state/cache_state.h"

namespace satchel::kvcache {

// Called with each token's position and key [head_dim], in main memory, valid during the call.
using TakesKey = std::function<void(std::size_t position, std::span<const float> key)>;

// Of all tokens of the lane at positions [first, end): sinks, then pages, then the tail.
Result<void> read_held_keys(CacheState& cache, std::size_t lane, std::size_t first, std::size_t end,
                            const TakesKey& take);

}  // namespace satchel::kvcache
