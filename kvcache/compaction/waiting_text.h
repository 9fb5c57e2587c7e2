// The text that a decision would be about next.
#pragma once

#include "kvcache/cache_state.h"

namespace satchel::kvcache {

// The first that waits with all its scores. CACHE_SCORES where there is none.
Result<TextSpan> scored_text(const CacheState& cache);

}  // namespace satchel::kvcache
