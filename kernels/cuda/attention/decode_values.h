// Weights times V: a tile's outputs, in registers. For .cu files.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/attention/column_operands.h"
#include "kernels/cuda/attention/decode_queries.h"

namespace satchel::kernels::cuda {

// Of a warp: every fourth 16 channels, both halves of each row, in the order of Products: channels
// thread / 4 and 8 further on.
template <unsigned kSets, unsigned kDim>
struct Outputs {
  using Block = DecodeBlock<kSets, kDim>;
  static constexpr unsigned kTiles = kDim / 16 / kAttendWarps;

  Products<kSets> of[kTiles] = {};
  bool are_transformed = false, are_nothing = true;

  // of = of · rescale + weights · V. Ends at a barrier.
  __device__ __forceinline__ void add(const Block& block, const Unit& unit, const Slice& slice) {
    const DecodeOperand& values = unit.v_operand;
    are_nothing = false;
    const unsigned n_tiles = block.padded_dim / 16;
    const unsigned of_group = tiles_of_group(values, n_tiles);
    TilesAtOnce tiles{of_group};
    for (; tiles.first < n_tiles;
         tiles.first += Block::kGroups * of_group, tiles.first_group += Block::kGroups) {
      const unsigned left = n_tiles - tiles.first, most = Block::kGroups * of_group;
      tiles.n = left < most ? left : most;
      make_columns<kUnitTokens / 64>(
          block, &block.memory.weights[0][0], Block::Memory::kWeightStride, padded16(slice.n) / 16,
          tiles,
          {block.value_columns(of_group >= n_tiles), kUnitTokens / 16, block.memory.value_factors},
          [&](unsigned group) {
            if (values.form != Form::codes) return GroupScales{};
            return scales_of(values, block.value_part, unit.capacity, group);
          });
      __syncthreads();
      add_tiles(block, unit, slice, tiles);
      __syncthreads();
    }
  }

  // Every output of this thread, both halves of its row together: body(row, channel, value).
  template <class Body>
  __device__ __forceinline__ void for_each(const Block& block, const Body& body) const {
#pragma unroll
    for (unsigned k = 0; k < kTiles; ++k) {
      const unsigned channel = first_channel(block, k) + block.thread % 4 / 2 * 8;
#pragma unroll
      for (unsigned set = 0; set < kSets; ++set) {
        float x[2];
        block.meet_halves(of[k].of[set], x);
        for (unsigned i = 0; i < 2; ++i)
          if (channel < block.head_dim) body(block.row_of_column(set, i), channel, x[i]);
      }
    }
  }

  // Begins at a barrier, ends behind one. True: it overwrote the columns.
  __device__ __forceinline__ bool transform(const Block& block, bool is_transformed) {
    if (is_transformed == are_transformed) return false;
    are_transformed = is_transformed;
    if (are_nothing) return false;
    auto* rows = reinterpret_cast<float*>(block.memory.columns);
    for_each(block, [&](unsigned row, unsigned channel, float x) {
      rows[row * block.padded_dim + channel] = x;
    });
    __syncthreads();
    transform_rows(block, rows);
    take(block, rows);
    return true;
  }

  // rows [kRows, padded head_dim], in shared memory. Begins at a barrier, ends behind one.
  __device__ __forceinline__ void take(const Block& block, const float* rows) {
    are_nothing = false;
    for (unsigned k = 0; k < kTiles; ++k)
      for (unsigned set = 0; set < kSets; ++set)
        for (unsigned i = 0; i < 4; ++i) {
          const unsigned row = block.row_of_column(set, i % 2);
          const unsigned channel = first_channel(block, k) + i / 2 * 8;
          of[k].of[set][i] = block.thread % 4 < 2 && channel < block.head_dim
                                 ? rows[row * block.padded_dim + channel]
                                 : 0.0f;
        }
    __syncthreads();
  }

 private:
  __device__ static unsigned first_channel(const Block& block, unsigned tile) {
    return (block.warp + tile * kAttendWarps) * 16 + block.thread / 4;
  }

  // The warp's of the tiles whose columns are there.
  __device__ __forceinline__ void add_tiles(const Block& block, const Unit& unit,
                                            const Slice& slice, const TilesAtOnce& tiles) {
    const DecodeOperand& values = unit.v_operand;
    const unsigned n_steps = padded16(slice.n) / 16;
#pragma unroll 1
    for (unsigned i = 0; i < kTiles; ++i) {
      const unsigned here = block.warp + i * kAttendWarps;
      if (here < tiles.first || here >= tiles.first + tiles.n) continue;
      const unsigned channel = first_channel(block, i);
      const unsigned group = tiles.group_of<Block::kGroups>(here - tiles.first);
      const uint2* b = block.value_columns(tiles.of_group >= block.padded_dim / 16) +
                       group * (kUnitTokens / 16) * kSets * kWarp + block.thread;
      Products<kSets> sums = {};
      if (values.form == Form::codes)
        multiply_codes(values.bits, rows_of(values, block.value_part, unit.capacity), channel,
                       channel + 8, n_steps, b, sums);
      else
        multiply_rows<false>(values.form,
                             {block.value_part, row_stride(values.form, block.head_dim)}, here * 16,
                             n_steps, b, sums);
      add_tile(block, i, group, sums);
    }
  }

  __device__ __forceinline__ void add_tile(const Block& block, unsigned tile, unsigned group,
                                           const Products<kSets>& sums) {
#pragma unroll
    for (unsigned set = 0; set < kSets; ++set) {
#pragma unroll
      for (unsigned i = 0; i < 4; ++i) {
        const unsigned row = block.row_of_column(set, i % 2);
        const ColumnFactors factors = block.memory.value_factors[group][row];
        const float rescale = block.memory.rescale[row];
        const float offset = block.thread % 4 < 2 ? factors.offset : 0.0f;
        const float more = fmaf(sums.of[set][i], factors.inverse, offset);
#pragma unroll
        for (unsigned k = 0; k < kTiles; ++k)
          if (k == tile) of[k].of[set][i] = fmaf(of[k].of[set][i], rescale, more);
      }
    }
  }
};

}  // namespace satchel::kernels::cuda
