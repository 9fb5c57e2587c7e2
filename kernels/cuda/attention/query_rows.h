// The attention mask, and the conversion of queries to operands. For .cu files.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/lanes/lane_queries.h"
#include "kernels/cuda/lanes/lane_rows.h"
#include "kernels/cuda/primitives/half_pair.h"
#include "kernels/cuda/primitives/warp.h"

namespace satchel::kernels::cuda {

inline constexpr float kLog2OfE = 1.44269504088896341f;
inline constexpr float kNothing = -__builtin_huge_valf();  // a logit that is not there

struct alignas(8) TwoFloats {
  float first, second;
};

__device__ __forceinline__ bool can_attend(const LaneRows& rows, std::int32_t query,
                                           std::int32_t key) {
  const std::int64_t back = std::int64_t{query} - key;
  return rows.least_back <= back && back <= rows.most_back;
}

// Positions that rise from first to last.
struct PositionRange {
  std::int32_t first, last;
};
__device__ __forceinline__ PositionRange positions_of(const TokenSource& source, unsigned first,
                                                      unsigned n_of_tile) {
  const unsigned end = first + n_of_tile < source.n_tokens ? first + n_of_tile : source.n_tokens;
  return {source.positions[first] + source.shift, source.positions[end - 1] + source.shift};
}
__device__ __forceinline__ bool all_see_all(const LaneRows& rows, PositionRange queries,
                                            PositionRange keys) {
  return can_attend(rows, queries.first, keys.last) && can_attend(rows, queries.last, keys.first) &&
         can_attend(rows, queries.first, keys.first) && can_attend(rows, queries.last, keys.last);
}
__device__ __forceinline__ bool none_sees_any(const LaneRows& rows, PositionRange queries,
                                              PositionRange keys) {
  return std::int64_t{queries.last} - keys.first < rows.least_back ||
         std::int64_t{queries.first} - keys.last > rows.most_back;
}

// The first token whose position is at least `least`; n_tokens: none.
__device__ inline unsigned first_at(const LaneRows& rows, std::int64_t least) {
  unsigned low = 0, high = rows.n_tokens;
  while (low < high) {
    const unsigned middle = (low + high) / 2;
    if (rows.positions[middle] < least)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// The power of two by which a row's values fit two fp16 best: the largest becomes 1 to 2. 1 where
// there is nothing to gain.
struct RowFactor {
  float factor, inverse;
};
__device__ __forceinline__ RowFactor factor_of(float most) {
  const int exponent = static_cast<int>(__float_as_uint(most) >> 23) - 127;
  if (exponent < -126 || exponent > 126) return {1, 1};  // 0, subnormal, infinite, NaN
  return {__int_as_float((127 - exponent) << 23), __int_as_float((127 + exponent) << 23)};
}

// A loop of its own: most models have no cap, and without one this is a single branch.
template <unsigned kN>
__device__ __forceinline__ void cap_logits(float soft_cap, float (&logits)[kN][4]) {
  if (!(soft_cap > 0)) return;
#pragma unroll
  for (auto& of_tile : logits)
#pragma unroll
    for (float& logit : of_tile) logit = soft_cap * tanhf(logit / soft_cap);
}

// Two channels of a query; zeros where there is none.
__device__ __forceinline__ TwoFloats two_of(const float* row, unsigned channel, unsigned head_dim) {
  if (row == nullptr || channel >= head_dim) return {0, 0};
  return *reinterpret_cast<const TwoFloats*>(row + channel);
}
// The factor of a row, from all its channels. A thread reads those that it holds in any operand:
// 2t, 2t + 1, 2t + 8, 2t + 9 of every 16.
__device__ inline RowFactor row_factor(const float* row, unsigned head_dim) {
  const unsigned t = threadIdx.x % 4;
  float most = 0;
  for (unsigned c = 2 * t; c < head_dim; c += 8) {
    const TwoFloats two = two_of(row, c, head_dim);
    most = fmaxf(most, fmaxf(fabsf(two.first), fabsf(two.second)));
  }
  return factor_of(quad_max(most));
}
__device__ __forceinline__ HalfPair split_at(const float* row, unsigned channel, unsigned head_dim,
                                             float factor) {
  const TwoFloats two = two_of(row, channel, head_dim);
  return split_pair(two.first * factor, two.second * factor);
}

}  // namespace satchel::kernels::cuda
