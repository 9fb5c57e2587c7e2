// What stands before and behind products of fp16: activations and rows of weights made halves,
// results put where they belong. Pointers are device memory.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/matmul.h"
#include "kernels/cuda/queue.h"

namespace satchel::kernels::cuda {

// to [n_tokens, n_in] = x · a power of two each token's largest is near 1 by; inverse [n_tokens].
// A NaN or an infinity stays one.
cudaError_t round_activations(Queue& queue, const float* x, std::size_t n_tokens, std::size_t n_in,
                              std::uint16_t* to, float* inverse);
// to [n_rows, n_in] = rows first_row … of the weight; first_row a multiple of kTileRows.
cudaError_t round_rows(Queue& queue, const DeviceMatrix& weight, std::size_t first_row,
                       std::size_t n_rows, std::uint16_t* to);
// Columns first_row … of the product's out, from [n_tokens, n_rows].
cudaError_t put_rows(Queue& queue, const Product& product, std::size_t first_row,
                     std::size_t n_rows, const float* from, const float* inverse,
                     std::size_t n_tokens);

}  // namespace satchel::kernels::cuda
