// What every lane holds exactly: sinks at the front, a tail at the end.
#pragma once

#include <cstddef>

#include "kernels/contract/page_layout.h"

namespace satchel::kvcache {

inline constexpr std::size_t kSinkTokens = 4;
// Exact at least this long, unless a recipe says less.
inline constexpr std::size_t kTailTokens = 128;
// Tails grow by this, then flush.
inline constexpr std::size_t kFlushTokens = kernels::kPageTokens;

}  // namespace satchel::kvcache
