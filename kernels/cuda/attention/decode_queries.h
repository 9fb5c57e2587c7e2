// The tile's query rows, transformed to match the keys of a unit, and the transforms themselves.
// For .cu files.
//   source   transform.h (Hadamard, RoPE)
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/attention/decode_block.h"

namespace satchel::kernels::cuda {

inline constexpr float kLog2E = 1.44269504088896340736f;

// Butterflies of distance 1, 2, 4 … over rows side by side, then the norm. Ends behind a barrier.
template <unsigned kSets, unsigned kDim>
__device__ __forceinline__ void transform_rows(const DecodeBlock<kSets, kDim>& block, float* rows) {
  const AttendCall& call = block.call;
  const unsigned n_values = block.kRows * block.padded_dim;
#pragma unroll 1
  for (unsigned distance = 1; distance < call.hadamard_block; distance *= 2) {
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < n_values / 2; i += kAttendThreads) {
      const unsigned within = i & (distance - 1);
      float* first = rows + 2 * (i - within) + within;
      const float a = first[0], b = first[distance];
      first[0] = a + b;
      first[distance] = a - b;
    }
    __syncthreads();
  }
#pragma unroll 1
  for (unsigned i = threadIdx.x; i < n_values; i += kAttendThreads) rows[i] *= call.transform_norm;
  __syncthreads();
}

// Rows by RoPE's pairs: `n_rows` of each of n_sets, set s back by by(s) positions. Ends behind a
// barrier.
//   rotations  [n_pairs]: by how much a position rotates a pair, of a full circle divided by `unit`
struct RotationPairs {
  const double* rotations;
  double unit;
  unsigned n_pairs;
  bool are_adjacent;
};
template <class By>
__device__ __forceinline__ void rotate_back(const RotationPairs& pairs, const By& by, float* rows,
                                            unsigned n_sets, unsigned n_rows, unsigned stride) {
#pragma unroll 1
  for (unsigned i = threadIdx.x; i < n_sets * pairs.n_pairs; i += kAttendThreads) {
    const unsigned set = i / pairs.n_pairs, pair = i % pairs.n_pairs;
    const double rotations = -static_cast<double>(by(set)) * (pairs.rotations[pair] * pairs.unit);
    float sine, cosine;
    sincospif(2 * static_cast<float>(rotations - rint(rotations)), &sine, &cosine);
    float* first = rows + set * n_rows * stride + (pairs.are_adjacent ? 2 * pair : pair);
    float* second = first + (pairs.are_adjacent ? 1 : pairs.n_pairs);
#pragma unroll 1
    for (unsigned row = 0; row < n_rows; ++row, first += stride, second += stride) {
      const float a = *first, b = *second;
      *first = fmaf(a, cosine, -(b * sine));
      *second = fmaf(a, sine, b * cosine);
    }
  }
  __syncthreads();
}
// A page's shift is in the call's RoPE.
__device__ __forceinline__ RotationPairs shift_pairs(const AttendCall& call) {
  return {call.rotations, 1, call.n_pairs, call.pairs_are_adjacent};
}

// Row `row` of an item: a token's query head. What logits are times is in it already.
__device__ __forceinline__ float query_value(const AttendCall& call, const AttendItem& item,
                                             unsigned row, unsigned c) {
  if (row >= item.n_rows || c >= call.head_dim) return 0;
  const std::size_t token = token_of_row(call, item, row);
  const unsigned head = head_of_row(call, item, row);
  const float factor = call.soft_cap > 0 ? call.scale / call.soft_cap : call.scale * kLog2E;
  return call.q[(token * call.n_heads + head) * call.head_dim + c] * factor;
}

// Queries as keys of this shift and Unit::query want them. Ends behind a barrier.
template <unsigned kSets, unsigned kDim>
__device__ __forceinline__ void set_queries(const DecodeBlock<kSets, kDim>& block,
                                            std::int32_t shift, unsigned query) {
  const AttendCall& call = block.call;
  const float* in_basis = nullptr;
  if (query >= kQueryInBasis)
    in_basis =
        call.basis_queries + std::size_t{query - kQueryInBasis} * block.kRows * block.head_dim;
#pragma unroll 1
  for (unsigned i = threadIdx.x; i < block.kRows * block.padded_dim; i += kAttendThreads) {
    const unsigned row = i / block.padded_dim, c = i % block.padded_dim;
    block.memory.q[i] = in_basis == nullptr  ? query_value(call, block.item, row, c)
                        : c < block.head_dim ? in_basis[row * block.head_dim + c]
                                             : 0.0f;
  }
  __syncthreads();
  if (in_basis != nullptr) return;
  if (shift != 0 && call.n_pairs != 0)
    rotate_back(
        shift_pairs(call), [&](unsigned) { return shift; }, block.memory.q, 1, block.kRows,
        block.padded_dim);
  if (query == kQueryHadamard) transform_rows(block, block.memory.q);
}

}  // namespace satchel::kernels::cuda
