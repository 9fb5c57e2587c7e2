// Products of rows of floats, in fp32: a warp some rows and tokens, a thread every 32nd 16 bytes of
// them. One order of sums for few tokens and for many.
#include <type_traits>

#include "kernels/cuda/device/block_sum.h"
#include "kernels/cuda/primitives/cache_hints.h"
#include "kernels/cuda/primitives/half.h"
#include "kernels/cuda/products/product_group.h"

namespace satchel::kernels::cuda {
namespace {

constexpr unsigned kWarps = 8, kThreads = kWarps * kWarp;

template <WeightType kType>
constexpr unsigned kBytesOf = kType == WeightType::f32 ? 4 : 2;
template <WeightType kType>
constexpr unsigned kValuesOf = 16 / kBytesOf<kType>;  // of a load

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

template <WeightType kType, unsigned kRows, unsigned kTokens>
__global__ void __launch_bounds__(kThreads) multiply_rows(ProductGroup group, const float* x) {
  wait_for_launch_before();
  constexpr unsigned kValues = kValuesOf<kType>;
  const ProductPart part = group.part_of(row_block());
  const unsigned n_in = group.n_in, thread = threadIdx.x % kWarp;
  const unsigned warp = (row_block() - part.first_block) * kWarps + threadIdx.x / kWarp;
  const unsigned first_row = warp * kRows, first_token = blockIdx.x * kTokens;
  const bool is_aligned = n_in % kValues == 0;
  if (first_row >= part.n_out) return;
  float sums[kRows][kTokens] = {};
  for (unsigned k = thread * kValues; k < n_in; k += kWarp * kValues) {
    Values<kValues> w[kRows] = {};
#pragma unroll
    for (unsigned r = 0; r < kRows; ++r)
      if (first_row + r < part.n_out)
        w[r] = weights_at<kType>(part.bytes + std::size_t{first_row + r} * n_in * kBytesOf<kType>,
                                 k, n_in, is_aligned);
#pragma unroll
    for (unsigned t = 0; t < kTokens; ++t) {
      if (first_token + t >= group.n_tokens) break;
      const auto values =
          activations_at<kValues>(x + std::size_t{first_token + t} * n_in, k, n_in, is_aligned);
#pragma unroll
      for (unsigned i = 0; i < kValues; ++i)
        for (unsigned r = 0; r < kRows; ++r)
          sums[r][t] = fmaf(w[r].at[i], values.at[i], sums[r][t]);
    }
  }
  put_sums<kRows, kTokens>(sums, part, first_row, first_token, group.n_tokens);
}

template <WeightType kType, unsigned kRows, unsigned kTokens>
cudaError_t multiply_with(Queue& queue, std::span<const Product> products, const float* x,
                          std::size_t n_tokens) {
  unsigned n_blocks = 0;
  const ProductGroup group = group_of(products, n_tokens, kWarps * kRows, n_blocks);
  return launch(queue, {grid_of(blocks_of(n_tokens, kTokens), n_blocks), kThreads},
                multiply_rows<kType, kRows, kTokens>, group, x);
}

// One token: rows enough to fill a card. More: as many products for a value read as registers
// allow.
template <WeightType kType>
cudaError_t multiply_type(Queue& queue, std::span<const Product> products, const float* x,
                          std::size_t n_tokens) {
  if (n_tokens == 1) return multiply_with<kType, 2, 1>(queue, products, x, n_tokens);
  return multiply_with<kType, 4, 8>(queue, products, x, n_tokens);
}

}  // namespace

cudaError_t multiply_float_rows(Queue& queue, std::span<const Product> products, const float* x,
                                std::size_t n_tokens) {
  switch (products[0].weight->type) {
    case WeightType::f16:
      return multiply_type<WeightType::f16>(queue, products, x, n_tokens);
    case WeightType::bf16:
      return multiply_type<WeightType::bf16>(queue, products, x, n_tokens);
    default:
      return multiply_type<WeightType::f32>(queue, products, x, n_tokens);
  }
}

}  // namespace satchel::kernels::cuda
