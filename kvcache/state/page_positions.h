// Where the tokens of a page stand, without its bytes if they are not needed for it.
#pragma once

#include <numeric>
#include <span>

#include "kvcache/state/cache_state.h"

namespace satchel::kvcache {

// As CacheState::read_positions(); of a page without gaps nothing is read, or fetched.
inline Result<void> find_positions(CacheState& cache, const PageRecord& page,
                                   std::span<std::int32_t> positions) {
  const auto n = static_cast<std::int32_t>(page.n_tokens);
  if (page.live.count() != page.n_tokens || page.last_position - page.first_position + 1 != n)
    return cache.read_positions(page, positions);
  std::iota(positions.begin(), positions.begin() + n, page.first_position);
  return {};
}

}  // namespace satchel::kvcache
