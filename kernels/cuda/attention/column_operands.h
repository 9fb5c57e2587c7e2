// The addresses of a part's codes and scales in shared memory, and its other operand: columns made
// from the tile's rows. For .cu files.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/attention/decode_block.h"

namespace satchel::kernels::cuda {

__device__ __forceinline__ CodeRows rows_of(const PageOperand& affine, const std::byte* part,
                                            unsigned n_rows, unsigned n_entries) {
  const unsigned low = code_places(affine, n_rows, n_entries).low;
  return {reinterpret_cast<const std::uint32_t*>(part),
          reinterpret_cast<const std::uint32_t*>(part + low), n_entries};
}
__device__ __forceinline__ GroupScales scales_of(const PageOperand& affine, const std::byte* part,
                                                 unsigned n_rows, unsigned n_entries,
                                                 unsigned group) {
  const CodePlaces places = code_places(affine, n_rows, n_entries);
  const auto plane = [&](unsigned at) {
    return reinterpret_cast<const std::uint16_t*>(part + at) + group * n_entries;
  };
  return {plane(places.scale), affine.is_symmetric ? nullptr : plane(places.zero),
          static_cast<float>(1u << (affine.bits - 1)), n_entries};
}

// Mixed-bit keys: a pair for each channel, in channel order.
__device__ __forceinline__ GroupScales scales_of_mixed(const std::byte* part, unsigned head_dim) {
  const auto* scale = reinterpret_cast<const std::uint16_t*>(part);
  return {.scale = scale,
          .zero = scale + head_dim,
          .n_entries = head_dim,
          .quads = reinterpret_cast<const std::uint32_t*>(part + mixed_quads_at(head_dim))};
}

// Tiles of 16 rows of a part, in groups that share scales, so many at once as there is room for
// their columns.
struct TilesAtOnce {
  unsigned first, n;  // tiles
  unsigned of_group;  // tiles
  __device__ unsigned first_group() const { return first / of_group; }
  __device__ unsigned n_groups() const { return (n + of_group - 1) / of_group; }
};

// Columns of the groups of `tiles`: each row of x times the group's scales; warp w makes rows w,
// w + 4 …
template <unsigned kPairs, unsigned kSets, unsigned kDim, class Scales>
__device__ __forceinline__ void make_columns(const DecodeBlock<kSets, kDim>& block, const float* x,
                                             unsigned stride, unsigned n_steps,
                                             const TilesAtOnce& tiles, unsigned steps_of_group,
                                             const Scales& scales) {
  constexpr unsigned kRows = DecodeBlock<kSets, kDim>::kRows;
  for (unsigned job = block.warp; job < tiles.n_groups() * kRows; job += kAttendWarps) {
    const unsigned group = job / kRows, row = job % kRows;
    uint2* to = block.columns() + (group * steps_of_group * kSets + row / kRowsOfSet) * kWarp;
    const ColumnFactors factors = make_column<kPairs, kSets>(
        x + row * stride, n_steps * 8, scales(tiles.first_group() + group), row % kRowsOfSet, to);
    if (block.thread == 0) block.memory.factors[group][row] = factors;
  }
}

}  // namespace satchel::kernels::cuda
