// The kernels behind multiply(): products of one type and n_in, at most kProductsMax. Which of them
// takes a call does not change its bytes.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <span>

#include "kernels/cuda/matmul.h"
#include "kernels/cuda/queue.h"

namespace satchel::kernels::cuda {

inline constexpr unsigned kProductsMax = 4;  // of a launch: q, k, v; gate, up

// A block reads and unpacks a weight once for 16 tokens; for more it would do so again, where
// multiply_many_tokens() does it once for 64. Which is the faster in between nobody has measured.
inline constexpr std::size_t kFewTokens = 16;
cudaError_t multiply_few_tokens(Queue& queue, std::span<const Product> products,
                                const Operands& operands, std::size_t n_tokens);
cudaError_t multiply_many_tokens(Queue& queue, std::span<const Product> products,
                                 const Operands& operands, std::size_t n_tokens);
cudaError_t multiply_float_rows(Queue& queue, std::span<const Product> products, const float* x,
                                std::size_t n_tokens);

}  // namespace satchel::kernels::cuda
