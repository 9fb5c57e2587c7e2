// The operand that multiplies keys and values: a row of queries or weights times a group's scales,
// as fp16 columns. For .cu files.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/contract/row_order.h"
#include "kernels/cuda/attention/code_operands.h"
#include "kernels/cuda/primitives/half.h"
#include "kernels/cuda/primitives/warp.h"

namespace satchel::kernels::cuda {

// Scales of one group along the entries of an operand's rows, in storage order; none: 1.
struct GroupScales {
  const std::uint16_t *scale = nullptr, *zero = nullptr;  // no zero: symmetric
  float middle = 0;                                       // 2^(bits - 1), which codes lack
  unsigned n_entries = 0;
  const std::uint32_t* quads = nullptr;  // mixed-bit: scales in channel order, bits by quad
};
// What a mixed-bit code lacks.
__device__ __forceinline__ unsigned middle_of_quad(std::uint32_t quad) {
  return (1u << (quad & 15)) / 2;
}

struct ScaledPair {
  float scaled[2], zeros;  // x · scale; Σ x · (zero + middle · scale)
};
__device__ __forceinline__ ScaledPair scale_pair(float2 x, const GroupScales& group,
                                                 unsigned pair) {
  if (group.scale == nullptr) return {{x.x, x.y}, 0};
  const bool is_mixed = group.quads != nullptr;
  const std::size_t slot =
      is_mixed ? std::size_t{2 * pair} : slot_of_entry(group.n_entries, 2 * pair);
  const float middle =
      is_mixed ? static_cast<float>(middle_of_quad(group.quads[pair / 2])) : group.middle;
  const auto two = *reinterpret_cast<const std::uint32_t*>(group.scale + slot);
  const float s0 = half_value(static_cast<std::uint16_t>(two));
  const float s1 = half_value(static_cast<std::uint16_t>(two >> 16));
  float z0 = s0 * 0.5f, z1 = s1 * 0.5f;
  if (group.zero != nullptr) {
    const auto zeros = *reinterpret_cast<const std::uint32_t*>(group.zero + slot);
    z0 = fmaf(s0, middle, half_value(static_cast<std::uint16_t>(zeros)));
    z1 = fmaf(s1, middle, half_value(static_cast<std::uint16_t>(zeros >> 16)));
  }
  return {{x.x * s0, x.y * s1}, fmaf(x.x, z0, x.y * z1)};
}

// What products of a column are times, and what is added to each.
struct ColumnFactors {
  float inverse, offset;
};

// A power of two that brings `most` to 2^8 … 2^9, so that neither half of a split value is
// subnormal where it matters; 0 stays.
__device__ __forceinline__ int column_exponent(float most) {
  const unsigned bits = __float_as_uint(most);
  if (bits < 0x00800000u || bits >= 0x7f800000u) return 0;
  const int exponent = 8 - (static_cast<int>(bits >> 23) - 127);
  return exponent > 126 ? 126 : exponent;
}

// The word of a pair's upper halves among the fragments; that of the lower is sixteen threads on.
// Of mixed-bit keys a thread has the two pairs of a quad.
template <unsigned kSets>
__device__ __forceinline__ unsigned word_of_pair(unsigned pair, unsigned column, bool is_mixed) {
  const unsigned thread = is_mixed ? pair / 2 % 4 : pair % 4;
  const unsigned second = is_mixed ? pair % 2 : pair % 8 / 4;
  return (pair / 8 * kSets * kWarp + column * 4 + thread) * 2 + second;
}

// Of a warp: x [2 · n_pairs], n_pairs a multiple of eight and at most 32 · kPairs, into column
// `column` and, what is left of it, four columns on. fragments: [step][kSets][32], of its set.
template <unsigned kPairs, unsigned kSets>
__device__ __forceinline__ ColumnFactors make_column(const float* x, unsigned n_pairs,
                                                     const GroupScales& group, unsigned column,
                                                     uint2* fragments) {
  const unsigned thread = threadIdx.x % kWarp;
  ScaledPair pairs[kPairs];
  float most = 0, zeros = 0;
#pragma unroll
  for (unsigned j = 0; j < kPairs; ++j) {
    const unsigned pair = thread + j * kWarp;
    pairs[j] = {};
    if (pair < n_pairs)
      pairs[j] = scale_pair(*reinterpret_cast<const float2*>(x + 2 * pair), group, pair);
    most = fmaxf(most, fmaxf(fabsf(pairs[j].scaled[0]), fabsf(pairs[j].scaled[1])));
    zeros += pairs[j].zeros;
  }
  most = warp_max(most);
  if (group.scale != nullptr) zeros = warp_sum(zeros);
  const int exponent = column_exponent(most);
  const float factor = __int_as_float((exponent + 127) << 23);
  auto* words = reinterpret_cast<std::uint32_t*>(fragments);
#pragma unroll
  for (unsigned j = 0; j < kPairs; ++j) {
    const unsigned pair = thread + j * kWarp;
    if (pair >= n_pairs) continue;
    const HalfPair both = split_pair(pairs[j].scaled[0] * factor, pairs[j].scaled[1] * factor);
    const unsigned at = word_of_pair<kSets>(pair, column, group.quads != nullptr);
    words[at] = both.high;
    words[at + 32] = both.low;
  }
  return {__int_as_float((127 - exponent) << 23), zeros};
}

}  // namespace satchel::kernels::cuda
