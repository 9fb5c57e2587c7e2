// Rotary embedding: the Backend's functions of the same names. Pointers are device memory.
#pragma once

#include <cuda_runtime.h>

#include "kernels/contract/backend.h"
#include "kernels/cuda/device/queue.h"

namespace satchel::kernels::cuda {

// The table's frequencies are in main memory and go with the launch: at most kFrequenciesMax of
// them.
inline constexpr std::size_t kFrequenciesMax = kHeadDimMax / 2;
cudaError_t make_rotation(Queue& queue, const Batch& batch, const RopeTable& table,
                          float* rotation);
cudaError_t rope(Queue& queue, const RopeArgs& args);

}  // namespace satchel::kernels::cuda
