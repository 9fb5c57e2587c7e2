// Rows of a page's operand as fp32: NaN and infinity replaced, and transforms applied or undone. A
// whole CUDA block executes each function together; inputs must be complete before, and each ends
// with a barrier. Every step rounds to fp32 once, in the order of kernels/contract/transform.h. For
// .cu files.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/pages/pages.h"
#include "kernels/cuda/primitives/half.h"

namespace satchel::kernels::cuda {

template <class T>
__device__ __forceinline__ T* plane_of(std::byte* page, std::uint32_t at) {
  return reinterpret_cast<T*>(page + at);
}
template <class T>
__device__ __forceinline__ const T* plane_of(const std::byte* page, std::uint32_t at) {
  return reinterpret_cast<const T*>(page + at);
}

// [n_tokens, n_channels] side by side, `stride` values from token to token.
struct PageRows {
  float* x;
  unsigned stride, n_tokens, n_channels;
};

struct Mended {
  unsigned n_nan = 0, n_infinite = 0;
};
__device__ __forceinline__ float mend(float x, Mended& counts) {
  constexpr float kValueMost = 60000.0f;
  if (x != x) {
    ++counts.n_nan;
    return 0;
  }
  if (fabsf(x) > 3.0e38f) ++counts.n_infinite;
  return fminf(fmaxf(x, -kValueMost), kValueMost);
}
__device__ __forceinline__ void add_counts(const Mended& mended, PageCounts* counts) {
  using Count = unsigned long long;
  if (mended.n_nan != 0) atomicAdd(&counts->n_nan, Count{mended.n_nan});
  if (mended.n_infinite != 0) atomicAdd(&counts->n_infinite, Count{mended.n_infinite});
}

// Four halves, mended. at: a multiple of 8 bytes.
__device__ __forceinline__ float4 load_mended(const Half* at, Mended& counts) {
  const uint2 four = *reinterpret_cast<const uint2*>(at);
  return {mend(half_value(static_cast<std::uint16_t>(four.x & 0xffffu)), counts),
          mend(half_value(static_cast<std::uint16_t>(four.x >> 16)), counts),
          mend(half_value(static_cast<std::uint16_t>(four.y & 0xffffu)), counts),
          mend(half_value(static_cast<std::uint16_t>(four.y >> 16)), counts)};
}
__device__ __forceinline__ void put_four(float* to, const float4& four) {
  to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
}

// Butterflies of distance 1, 2, 4 … among the first `count` of sixteen values.
__device__ __forceinline__ void butterflies(float (&v)[16], unsigned count) {
#pragma unroll
  for (unsigned distance = 1; distance < 16; distance *= 2) {
    if (distance >= count) break;
#pragma unroll
    for (unsigned i = 0; i < 16; ++i) {
      if ((i & distance) != 0) continue;
      const float a = v[i], b = v[i + distance];
      v[i] = a + b;
      v[i + distance] = a - b;
    }
  }
}

// `count` values, `step` apart.
__device__ __forceinline__ void transform_sixteen(float* at, unsigned step, unsigned count,
                                                  float norm) {
  float v[16];
#pragma unroll
  for (unsigned i = 0; i < 16; ++i) v[i] = i < count ? at[i * step] : 0;
  butterflies(v, count);
#pragma unroll
  for (unsigned i = 0; i < 16; ++i)
    if (i < count) at[i * step] = v[i] * norm;
}

// Transform::hadamard over blocks of n: sixteen neighbours, then what lies sixteen apart.
// Neighbouring threads have neighbouring tokens: an odd stride keeps them out of each other's
// banks.
template <unsigned kThreads>
__device__ __forceinline__ void transform_hadamard(const PageRows& rows, unsigned n, float norm) {
  const unsigned n_sixteens = rows.n_channels / 16 * rows.n_tokens;
  for (unsigned i = threadIdx.x; i < n_sixteens; i += kThreads)
    transform_sixteen(rows.x + i % rows.n_tokens * rows.stride + i / rows.n_tokens * 16, 1, 16,
                      n == 16 ? norm : 1.0f);
  __syncthreads();
  if (n == 16) return;
  const unsigned n_columns = rows.n_channels / n * 16 * rows.n_tokens;
  for (unsigned i = threadIdx.x; i < n_columns; i += kThreads) {
    const unsigned column = i / rows.n_tokens;
    transform_sixteen(rows.x + i % rows.n_tokens * rows.stride + column / 16 * n + column % 16, 16,
                      n / 16, norm);
  }
  __syncthreads();
}

// The frame of keys whose page begins so (kernels/contract/transform.h, frame_of).
__device__ __forceinline__ int frame_of(const PageBasis& basis, int first_position) {
  if (basis.n_pairs == 0 || first_position < 0) return 0;
  return first_position / kFrameTokens * kFrameTokens;
}

// RoPE by so many positions more. rotations: two floats a pair of workspace.
template <unsigned kThreads>
__device__ __forceinline__ void rotate(const PageBasis& basis, int by, float* rotations,
                                       const PageRows& rows) {
  if (by == 0) return;
  const unsigned n_pairs = basis.n_pairs;
  for (unsigned i = threadIdx.x; i < n_pairs; i += kThreads) {
    double sine, cosine;
    sincos(by * basis.frequencies[i], &sine, &cosine);
    rotations[2 * i] = static_cast<float>(cosine);
    rotations[2 * i + 1] = static_cast<float>(sine);
  }
  __syncthreads();
  for (unsigned i = threadIdx.x; i < rows.n_tokens * n_pairs; i += kThreads) {
    const unsigned pair = i % n_pairs;
    float* first = rows.x + i / n_pairs * rows.stride + (basis.has_halves ? pair : 2 * pair);
    float* second = first + (basis.has_halves ? n_pairs : 1);
    const float cosine = rotations[2 * pair], sine = rotations[2 * pair + 1], a = *first,
                b = *second;
    *first = a * cosine - b * sine;
    *second = a * sine + b * cosine;
  }
  __syncthreads();
}

// Rows times a matrix [n_channels, n_channels], in place; at most 32 tokens. Rows and their stride
// are multiples of 16 bytes. A thread has four tokens by four channels at a time, each sum from the
// first entry on.
struct SumsOfFour {
  float4 of_token[4];
};
__device__ __forceinline__ void add_product(float4& sums, float x, const float4& row) {
  sums.x += x * row.x, sums.y += x * row.y, sums.z += x * row.z, sums.w += x * row.w;
}
__device__ __forceinline__ SumsOfFour four_by_four(const float* x, unsigned stride, unsigned n,
                                                   const float* matrix) {
  SumsOfFour sums = {};
  for (unsigned i = 0; i < n; i += 4) {
    float4 row[4];
#pragma unroll
    for (unsigned k = 0; k < 4; ++k)
      row[k] = *reinterpret_cast<const float4*>(matrix + std::size_t{i + k} * n);
#pragma unroll
    for (unsigned t = 0; t < 4; ++t) {
      const float4 four = *reinterpret_cast<const float4*>(x + t * stride + i);
      add_product(sums.of_token[t], four.x, row[0]);
      add_product(sums.of_token[t], four.y, row[1]);
      add_product(sums.of_token[t], four.z, row[2]);
      add_product(sums.of_token[t], four.w, row[3]);
    }
  }
  return sums;
}
template <unsigned kThreads>
__device__ __forceinline__ void multiply(const float* matrix, const PageRows& rows) {
  constexpr unsigned kRounds = kUnpackTokens / 4 * kCudaHeadDimMax / 4 / kThreads;
  const unsigned n_fours = rows.n_channels / 4, n = (rows.n_tokens + 3) / 4 * n_fours;
  SumsOfFour sums[kRounds] = {};
#pragma unroll
  for (unsigned round = 0; round < kRounds; ++round) {
    const unsigned i = round * kThreads + threadIdx.x;
    if (i < n)
      sums[round] = four_by_four(rows.x + i / n_fours * 4 * rows.stride, rows.stride,
                                 rows.n_channels, matrix + i % n_fours * 4);
  }
  __syncthreads();
#pragma unroll
  for (unsigned round = 0; round < kRounds; ++round) {
    const unsigned i = round * kThreads + threadIdx.x;
    if (i >= n) continue;
    for (unsigned t = 0; t < 4; ++t)
      *reinterpret_cast<float4*>(rows.x + (i / n_fours * 4 + t) * rows.stride + i % n_fours * 4) =
          sums[round].of_token[t];
  }
  __syncthreads();
}

// Where a basis transforms rows, four floats between them keep tokens out of each other's banks.
__device__ __forceinline__ unsigned unpack_stride(const PagePlan& plan) {
  return plan.k.transform == Transform::basis ? plan.head_dim + 4 : plan.head_dim + 1;
}
constexpr std::size_t unpack_floats(unsigned head_dim) {
  return std::size_t{kUnpackTokens} * (head_dim + 4);
}

}  // namespace satchel::kernels::cuda
