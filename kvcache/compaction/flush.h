// Tails go to pages: all of them in the same step, every kFlushTokens tokens. A recipe whose
// trigger fires on steps then decides about all text.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/base/result.h"
#include "kvcache/state/cache_state.h"

namespace satchel::kvcache {

// A flush now, or of the tails as they will be after n_more steps; nothing waits finer than
// `finest`.
struct FlushPlan {
  std::uint8_t finest = kTierExact;
  std::size_t n_more = 0;
};
std::size_t flush_bytes(const CacheState& cache, const FlushPlan& plan);

Result<void> flush_if_due(CacheState& cache);

// No step is open, tails are flushed, the table shows what the lanes hold.
//   needs   no open prefill
Result<void> make_idle(CacheState& cache);

}  // namespace satchel::kvcache
