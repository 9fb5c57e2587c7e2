// Which keys a query sees, and which queries see a key (AttentionMask and window of LaneQueries),
// as ranges of rising positions.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/base/index_range.h"
#include "kernels/contract/backend.h"
#include "kernels/cpu/attention/attend_softmax.h"
#include "kernels/cpu/levels/simd_inline.h"

namespace satchel::kernels::cpu {
namespace {

// Positions, the last included.
struct Reach {
  std::int64_t first, last;
};

inline constexpr std::int64_t kFar = std::int64_t{1} << 40;  // beyond every position and window

SATCHEL_INLINE Reach keys_seen_from(const LaneQueries& lane, std::int64_t position) {
  if (lane.mask == AttentionMask::band) return {position, position + 1};
  return {lane.window == 0 ? -kFar : position - static_cast<std::int64_t>(lane.window) + 1,
          lane.mask == AttentionMask::causal ? position : kFar};
}

// Of the queries that see any of the keys at `keys`.
SATCHEL_INLINE Reach queries_that_see(const LaneQueries& lane, const Reach& keys) {
  if (lane.mask == AttentionMask::band) return {keys.first - 1, keys.last};
  return {lane.mask == AttentionMask::causal ? keys.first : -kFar,
          lane.window == 0 ? kFar : keys.last + static_cast<std::int64_t>(lane.window) - 1};
}

// Which of n rising positions lie in `reach`.
SATCHEL_INLINE IndexRange range_of(const std::int32_t* positions, std::size_t n,
                                   const Reach& reach) {
  if (n == 0) return {0, 0};
  return {positions[0] >= reach.first ? 0 : visible_tokens(positions, n, reach.first - 1),
          visible_tokens(positions, n, reach.last)};
}

}  // namespace
}  // namespace satchel::kernels::cpu
