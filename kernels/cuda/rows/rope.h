// Rotary embedding: the Backend's functions of the same names. Pointers are device memory.
#pragma once

#include <cuda_runtime.h>

#include "kernels/contract/backend.h"
#include "kernels/cuda/device/queue.h"

namespace satchel::kernels::cuda {

// frequencies: [n_pairs], RopeTable::inverse_frequency in device memory.
cudaError_t make_rotation(Queue& queue, const Batch& batch, const double* frequencies,
                          std::size_t n_pairs, float* rotation);
cudaError_t rope(Queue& queue, const RopeArgs& args);

}  // namespace satchel::kernels::cuda
