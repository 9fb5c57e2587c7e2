// The kernels of multiply(): up to kProductsMax products with one weight type and n_in.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <span>

#include "kernels/cuda/device/queue.h"
#include "kernels/cuda/products/matmul.h"

namespace satchel::kernels::cuda {

inline constexpr unsigned kProductsMax = 4;  // of a launch: q, k, v; gate, up

cudaError_t multiply_gemv(Queue& queue, std::span<const Product> products, const Operands& operands,
                          std::size_t n_tokens);
cudaError_t multiply_gemm(Queue& queue, std::span<const Product> products,
                          const ProductInput& input);
// Of products that multiply_gemm() takes at once.
std::size_t gemm_splits_bytes(std::span<const Product> products, std::size_t n_tokens,
                              unsigned n_multiprocessors);
cudaError_t multiply_float_rows(Queue& queue, std::span<const Product> products, const float* x,
                                std::size_t n_tokens);

}  // namespace satchel::kernels::cuda
