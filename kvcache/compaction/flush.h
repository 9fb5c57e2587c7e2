// Tails go to pages: all of them in the same step, every kFlushTokens tokens. A recipe whose
// trigger fires on steps then decides about all text.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/base/result.h"
#include "kvcache/state/cache_state.h"

namespace satchel::kvcache {

// What a flush takes, now or of the tails as they will be after n_more steps; nothing that is
// pending is held finer than `finest`.
std::size_t flush_bytes(const CacheState& cache, std::uint8_t finest, std::size_t n_more);

Result<void> flush_if_due(CacheState& cache);

// No step is open, tails are flushed, the table shows what the lanes hold.
//   needs   no open prefill
Result<void> make_idle(CacheState& cache);

}  // namespace satchel::kvcache
