// What products of rows of floats are made of, in fp32: a warp some rows and tokens, a thread every
// 32nd 16 bytes of them. For .cu files.
#pragma once

#include <cuda_runtime.h>

#include <type_traits>

#include "kernels/cuda/device/block_sum.h"
#include "kernels/cuda/primitives/cache_hints.h"
#include "kernels/cuda/primitives/half.h"
#include "kernels/cuda/products/product_group.h"

namespace satchel::kernels::cuda {
template <WeightType kType>
inline constexpr unsigned kBytesOf = kType == WeightType::f32 ? 4 : 2;
template <WeightType kType>
inline constexpr unsigned kValuesOf = 16 / kBytesOf<kType>;  // of a load

template <WeightType kType>
__device__ __forceinline__ float value_of(std::uint32_t word, unsigned i) {
  if constexpr (kType == WeightType::f32) return __uint_as_float(word);
  const auto bits = static_cast<std::uint16_t>(word >> 16 * i);
  if constexpr (kType == WeightType::f16) return half_value(bits);
  return __uint_as_float(std::uint32_t{bits} << 16);
}

template <unsigned kN>
struct Values {
  float at[kN];
};

// Of a row's values k …; those past its end are 0. Rows that are no multiple of 16 bytes are read
// value by value.
template <WeightType kType>
__device__ __forceinline__ Values<kValuesOf<kType>> weights_at(const std::byte* row, unsigned k,
                                                               unsigned n_in, bool is_aligned) {
  constexpr unsigned kValues = kValuesOf<kType>, kOfWord = 4 / kBytesOf<kType>;
  Values<kValues> out = {};
  if (is_aligned) {
    if (k >= n_in) return out;
    const uint4 four =
        load<Reads::again>(reinterpret_cast<const uint4*>(row + k * kBytesOf<kType>));
    const std::uint32_t words[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
    for (unsigned i = 0; i < kValues; ++i)
      out.at[i] = value_of<kType>(words[i / kOfWord], i % kOfWord);
    return out;
  }
  using Bits = std::conditional_t<kType == WeightType::f32, std::uint32_t, std::uint16_t>;
#pragma unroll
  for (unsigned i = 0; i < kValues; ++i)
    if (k + i < n_in) out.at[i] = value_of<kType>(reinterpret_cast<const Bits*>(row)[k + i], 0);
  return out;
}
template <unsigned kValues>
__device__ __forceinline__ Values<kValues> activations_at(const float* row, unsigned k,
                                                          unsigned n_in, bool is_aligned) {
  Values<kValues> out = {};
  if (is_aligned) {
    if (k >= n_in) return out;
#pragma unroll
    for (unsigned i = 0; i < kValues; i += 4) {
      const float4 four = *reinterpret_cast<const float4*>(row + k + i);
      out.at[i] = four.x, out.at[i + 1] = four.y, out.at[i + 2] = four.z, out.at[i + 3] = four.w;
    }
    return out;
  }
#pragma unroll
  for (unsigned i = 0; i < kValues; ++i)
    if (k + i < n_in) out.at[i] = row[k + i];
  return out;
}

// Outputs of a warp are no more than its threads: each gives one.
template <unsigned kRows, unsigned kTokens>
__device__ __forceinline__ void put_sums(const float (&sums)[kRows][kTokens],
                                         const ProductPart& part, unsigned first_row,
                                         unsigned first_token, unsigned n_tokens) {
  static_assert(kRows * kTokens <= kWarp);
  const unsigned thread = threadIdx.x % kWarp;
  float mine = 0;
#pragma unroll
  for (unsigned t = 0; t < kTokens; ++t)
    for (unsigned r = 0; r < kRows; ++r) {
      const float sum = warp_sum(sums[r][t]);
      if (thread == t * kRows + r) mine = sum;
    }
  const unsigned row = first_row + thread % kRows, token = first_token + thread / kRows;
  if (thread < kRows * kTokens && row < part.n_out && token < n_tokens) part.put(token, row, mine);
}

}  // namespace satchel::kernels::cuda
