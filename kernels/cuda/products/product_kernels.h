// The kernels of multiply(): up to kProductsMax products with one weight type and n_in. The choice
// of kernel does not change the result's bytes.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <span>

#include "kernels/cuda/device/queue.h"
#include "kernels/cuda/products/matmul.h"

namespace satchel::kernels::cuda {

inline constexpr unsigned kProductsMax = 4;  // of a launch: q, k, v; gate, up

// A block reads and unpacks a weight once for 16 tokens; for more it would do so again, where
// multiply_gemm() does it once for 64. Which is the faster in between nobody has measured.
inline constexpr std::size_t kGemvTokensMax = 16;
cudaError_t multiply_gemv(Queue& queue, std::span<const Product> products, const Operands& operands,
                          std::size_t n_tokens);
cudaError_t multiply_gemm(Queue& queue, std::span<const Product> products, const Operands& operands,
                          std::size_t n_tokens);
cudaError_t multiply_float_rows(Queue& queue, std::span<const Product> products, const float* x,
                                std::size_t n_tokens);

}  // namespace satchel::kernels::cuda
