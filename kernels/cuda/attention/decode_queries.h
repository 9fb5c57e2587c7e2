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
  for (unsigned distance = 1; distance < call.hadamard_block; distance *= 2) {
    for (unsigned i = threadIdx.x; i < n_values / 2; i += kAttendThreads) {
      float* first = rows + i / distance * 2 * distance + i % distance;
      const float a = first[0], b = first[distance];
      first[0] = a + b;
      first[distance] = a - b;
    }
    __syncthreads();
  }
  for (unsigned i = threadIdx.x; i < n_values; i += kAttendThreads) rows[i] *= call.transform_norm;
  __syncthreads();
}

// Queries by RoPE's pairs, back by the shift of a page's keys. Ends behind a barrier.
template <unsigned kSets, unsigned kDim>
__device__ __forceinline__ void rotate_back(const DecodeBlock<kSets, kDim>& block,
                                            std::int32_t shift) {
  const AttendCall& call = block.call;
  for (unsigned i = threadIdx.x; i < block.kRows * call.n_pairs; i += kAttendThreads) {
    const unsigned row = i / call.n_pairs, pair = i % call.n_pairs;
    const double rotations = -static_cast<double>(shift) * call.rotations[pair];
    float sine, cosine;
    sincospif(2 * static_cast<float>(rotations - rint(rotations)), &sine, &cosine);
    float* first =
        block.memory.q + row * block.padded_dim + (call.pairs_are_adjacent ? 2 * pair : pair);
    float* second = first + (call.pairs_are_adjacent ? 1 : call.n_pairs);
    const float a = *first, b = *second;
    *first = fmaf(a, cosine, -(b * sine));
    *second = fmaf(a, sine, b * cosine);
  }
  __syncthreads();
}

// Queries as keys of this shift and transform want them. Ends behind a barrier.
template <unsigned kSets, unsigned kDim>
__device__ __forceinline__ void set_queries(const DecodeBlock<kSets, kDim>& block,
                                            std::int32_t shift, bool is_transformed) {
  const AttendCall& call = block.call;
  const float factor = call.soft_cap > 0 ? call.scale / call.soft_cap : call.scale * kLog2E;
  for (unsigned i = threadIdx.x; i < block.kRows * block.padded_dim; i += kAttendThreads) {
    const unsigned row = i / block.padded_dim, c = i % block.padded_dim;
    float x = 0;
    if (row < block.item.n_rows && c < block.head_dim) {
      const std::size_t at = std::size_t{block.token_of(row)} * call.n_heads + block.head_of(row);
      x = call.q[at * block.head_dim + c];
    }
    block.memory.q[i] = x * factor;
  }
  __syncthreads();
  if (shift != 0 && call.n_pairs != 0) rotate_back(block, shift);
  if (is_transformed) transform_rows(block, block.memory.q);
}

}  // namespace satchel::kernels::cuda
