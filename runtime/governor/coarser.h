// What a chat holds coarser than its recipe asks, because room had to be made under the memory limit:
// what reading it again would bring back. Tokens that went for room are not among it: no tier tells
// them from those that the recipe lets go anyway.
#pragma once

#include <cstddef>

#include "kvcache/cache.h"

namespace satchel::runtime {

// Lane-tokens.
//   needs   the stats of a cache of this recipe
std::size_t n_coarser_than(const kvcache::Recipe& recipe, const kvcache::CacheStats& stats);

}  // namespace satchel::runtime
