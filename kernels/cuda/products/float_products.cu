// Products of rows of floats. One order of sums for few tokens and for many.
#include "kernels/cuda/products/float_rows.h"

namespace satchel::kernels::cuda {
namespace {

constexpr unsigned kWarps = 8, kThreads = kWarps * kWarp;

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
