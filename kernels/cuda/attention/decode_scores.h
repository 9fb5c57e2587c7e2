// Keys of a slice times the tile's queries: logits, then weights. For .cu files.
#pragma once

#include <cuda_runtime.h>

#include <climits>
#include <cmath>
#include <cstdint>

#include "kernels/cuda/attention/column_operands.h"
#include "kernels/cuda/attention/decode_queries.h"
#include "kernels/cuda/attention/mixed_operands.h"
#include "kernels/cuda/primitives/exp2.h"
#include "kernels/cuda/primitives/warp.h"

namespace satchel::kernels::cuda {

// Of 16 tokens from first_token on. Half of a quad has the one token, half the other.
template <unsigned kSets, unsigned kDim>
__device__ __forceinline__ void put_logits(const DecodeBlock<kSets, kDim>& block, const Unit& unit,
                                           const Slice& slice, const Products<kSets>& logits,
                                           unsigned first_token, unsigned group) {
  const AttendCall& call = block.call;
  auto& memory = block.memory;
  const unsigned token = first_token + block.thread / 4 + block.thread % 4 / 2 * 8;
  const unsigned slot = slice.first + token;
  const bool is_there = token < slice.n && ((unit.live[slot / 64] >> (slot % 64)) & 1) != 0;
  const auto* positions = reinterpret_cast<const std::int32_t*>(block.key_part);
  const auto* counts = reinterpret_cast<const float*>(block.key_part) + kUnitTokens;
  const std::int32_t position = is_there ? positions[token] + unit.shift : INT_MAX;
  const float count = is_there && unit.log_counts != nullptr ? counts[token] * kLog2E : 0.0f;
#pragma unroll
  for (unsigned set = 0; set < kSets; ++set) {
    float x[2];
    block.meet_halves(logits.of[set], x);
#pragma unroll
    for (unsigned i = 0; i < 2; ++i) {
      const unsigned row = block.row_of_column(set, i);
      const ColumnFactors factors = memory.key_factors[group][row];
      float logit = fmaf(x[i], factors.inverse, factors.offset);
      if (call.soft_cap > 0) logit = call.soft_cap * kLog2E * tanhf(logit);
      const bool is_seen =
          is_there && position <= memory.positions[row] && position >= memory.least[row];
      memory.weights[row][token] = is_seen ? logit + count : -INFINITY;
    }
  }
}

// The tiles whose columns are there, a warp each.
template <unsigned kSets, unsigned kDim>
__device__ __forceinline__ void multiply_tiles(const DecodeBlock<kSets, kDim>& block,
                                               const Unit& unit, const Slice& slice,
                                               const TilesAtOnce& tiles) {
  const DecodeOperand& keys = unit.k_operand;
  const std::byte* part = block.key_part + kPlacesBytes;
  const unsigned n_steps = block.padded_dim / 16;
#pragma unroll 1
  for (unsigned i = block.warp; i < tiles.n; i += kAttendWarps) {
    const unsigned first_token = (tiles.first + i) * 16;
    const unsigned group = tiles.group_of<DecodeBlock<kSets, kDim>::kGroups>(i);
    const unsigned row0 = first_token + block.thread / 4;
    const uint2* b = block.key_columns() + group * (kDim / 16) * kSets * kWarp + block.thread;
    Products<kSets> logits = {};
    if (keys.form == Form::mixed)
      multiply_mixed(MixedKeys(part, block.head_dim, unit.capacity), row0, n_steps, b, logits);
    else if (keys.form == Form::codes)
      multiply_codes(keys.bits, rows_of(keys, part, block.head_dim), row0, row0 + 8, n_steps, b,
                     logits);
    else
      multiply_rows<true>(keys.form, {part, row_stride(keys.form, block.head_dim)}, first_token,
                          n_steps, b, logits);
    put_logits(block, unit, slice, logits, first_token, group);
  }
}

// Logits of the slice, -infinity where a row does not see a token. Begins and ends at a barrier.
// are_columns_kept: of rows without scales, and the queries are the same.
template <unsigned kSets, unsigned kDim>
__device__ __forceinline__ void score(const DecodeBlock<kSets, kDim>& block, const Unit& unit,
                                      const Slice& slice, bool are_columns_kept) {
  constexpr unsigned kGroups = DecodeBlock<kSets, kDim>::kGroups;
  const DecodeOperand& keys = unit.k_operand;
  const unsigned n_tiles = padded16(slice.n) / 16;
  const unsigned of_group = tiles_of_group(keys, n_tiles);
  TilesAtOnce tiles{of_group};
  for (; tiles.first < n_tiles; tiles.first += kGroups * of_group, tiles.first_group += kGroups) {
    const unsigned left = n_tiles - tiles.first, most = kGroups * of_group;
    tiles.n = left < most ? left : most;
    if (!are_columns_kept) {
      make_columns<kDim / 64>(block, block.memory.q, block.padded_dim, block.padded_dim / 16, tiles,
                              {block.key_columns(), kDim / 16, block.memory.key_factors},
                              [&](unsigned group) {
                                const std::byte* part = block.key_part + kPlacesBytes;
                                if (keys.form == Form::mixed)
                                  return scales_of_mixed(part, block.head_dim);
                                if (keys.form != Form::codes) return GroupScales{};
                                return scales_of(keys, part, block.head_dim, group);
                              });
      __syncthreads();
    }
    multiply_tiles(block, unit, slice, tiles);
    __syncthreads();
  }
}

// Logits to weights, by the largest logit so far. A row is one warp's, as in make_columns().
template <unsigned kSets, unsigned kDim>
__device__ __forceinline__ void weigh(const DecodeBlock<kSets, kDim>& block, unsigned n_padded) {
  auto& memory = block.memory;
  const unsigned thread = block.thread;
#pragma unroll 1
  for (unsigned row = block.warp; row < block.item.n_rows; row += kAttendWarps) {
    constexpr unsigned kOfThread = kUnitTokens / kWarp;
    float *const weights = memory.weights[row] + thread, x[kOfThread];
    const float before = memory.most[row];
    float most = before, sum = 0;
#pragma unroll
    for (unsigned i = 0; i < kOfThread; ++i) {
      x[i] = thread + i * kWarp < n_padded ? weights[i * kWarp] : -INFINITY;
      most = fmaxf(most, x[i]);
    }
    most = warp_max(most);
    const float subtracted = most == -INFINITY ? 0.0f : most;  // nothing seen: weights of 0
#pragma unroll
    for (unsigned i = 0; i < kOfThread; ++i) {
      x[i] = exp2_of(x[i] - subtracted);
      if (thread + i * kWarp < n_padded) weights[i * kWarp] = x[i];
      sum += x[i];
    }
    sum = warp_sum(sum);
    __syncwarp();
    if (thread != 0) continue;
    const float rescale = exp2_of(before - subtracted);
    memory.most[row] = most;
    memory.rescale[row] = rescale;
    memory.sum[row] = memory.sum[row] * rescale + sum;
  }
  __syncwarp();
}

}  // namespace satchel::kernels::cuda
