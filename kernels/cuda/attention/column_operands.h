// The addresses of a part's codes and scales in shared memory, and its other operand: columns made
// from the tile's rows. For .cu files.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/attention/decode_block.h"

namespace satchel::kernels::cuda {

__device__ __forceinline__ CodeRows rows_of(const DecodeOperand& operand, const std::byte* part,
                                            unsigned n_entries) {
  return {reinterpret_cast<const std::uint32_t*>(part),
          reinterpret_cast<const std::uint32_t*>(part + operand.places.low), n_entries};
}
__device__ __forceinline__ GroupScales scales_of(const DecodeOperand& operand,
                                                 const std::byte* part, unsigned n_entries,
                                                 unsigned group) {
  const auto plane = [&](unsigned at) {
    return reinterpret_cast<const std::uint16_t*>(part + at) + group * n_entries;
  };
  return {plane(operand.places.scale), operand.is_symmetric ? nullptr : plane(operand.places.zero),
          static_cast<float>(1u << (operand.bits - 1)), n_entries};
}
// Mixed-bit keys: a pair for each channel, in channel order.
__device__ __forceinline__ GroupScales scales_of_mixed(const std::byte* part, unsigned head_dim) {
  const auto* scale = reinterpret_cast<const std::uint16_t*>(part);
  return {.scale = scale,
          .zero = scale + head_dim,
          .n_entries = head_dim,
          .quads = reinterpret_cast<const std::uint32_t*>(part + mixed_quads_at(head_dim))};
}

// How many of an operand's tiles share scales: all of them, where it has none or one group.
__device__ __forceinline__ unsigned tiles_of_group(const DecodeOperand& operand, unsigned n_tiles) {
  return operand.of_group != 0 ? operand.of_group : n_tiles;
}

// Tiles of 16 rows of a part, in groups that share scales, so many at once as there is room for
// their columns.
struct TilesAtOnce {
  unsigned of_group;  // tiles
  unsigned first = 0, n = 0, first_group = 0;

  __device__ unsigned n_groups() const {
    unsigned groups = 1;
#pragma unroll 1
    while (groups * of_group < n) ++groups;
    return groups;
  }
  // Of tile `i` of these, among theirs.
  template <unsigned kGroups>
  __device__ unsigned group_of(unsigned i) const {
    unsigned group = 0;
    if (n > of_group)
      for (unsigned g = 1; g < kGroups; ++g) group += i >= g * of_group ? 1 : 0;
    return group;
  }
};

// Where columns go, and what their products are times.
template <unsigned kRows>
struct ColumnsOfGroups {
  uint2* columns;
  unsigned steps_of_group;
  ColumnFactors (*factors)[kRows];
};

// Columns of the groups of `tiles`: each row of x times the group's scales; warp w makes rows w,
// w + 4 …
template <unsigned kPairs, unsigned kSets, unsigned kDim, class Scales>
__device__ __forceinline__ void make_columns(
    const DecodeBlock<kSets, kDim>& block, const float* x, unsigned stride, unsigned n_steps,
    const TilesAtOnce& tiles, const ColumnsOfGroups<DecodeBlock<kSets, kDim>::kRows>& out,
    const Scales& scales) {
  constexpr unsigned kRows = DecodeBlock<kSets, kDim>::kRows;
#pragma unroll 1
  for (unsigned job = block.warp; job < tiles.n_groups() * kRows; job += kAttendWarps) {
    const unsigned group = job / kRows, row = job % kRows;
    uint2* to = out.columns + (group * out.steps_of_group * kSets + row / kRowsOfSet) * kWarp;
    const ColumnFactors factors = make_column<kPairs, kSets>(
        x + row * stride, n_steps * 8, scales(tiles.first_group + group), row % kRowsOfSet, to);
    if (block.thread == 0) out.factors[group][row] = factors;
  }
}

}  // namespace satchel::kernels::cuda
