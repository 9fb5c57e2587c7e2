// What a chat holds coarser than its recipe asks, because memory was reclaimed at the limit: what
// reading it again would bring back. Tokens that were evicted for it are not among it: no tier
// tells them from those that the recipe lets go anyway.
#pragma once

#include <cstddef>

#include "kvcache/cache/cache.h"

namespace satchel::runtime {

// Lane-tokens.
//   needs   the stats of a cache of this recipe
std::size_t n_coarser_than(const kvcache::Recipe& recipe, const kvcache::CacheStats& stats);

}  // namespace satchel::runtime
