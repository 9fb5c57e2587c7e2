// For each row of a matrix the power of two that brings its largest value to [2^14, 2^16), or a
// bound of it where values are codes: gemm.cu makes fp16 of the row's values times that, so that no
// file's scales are too large or too small.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/device/queue.h"
#include "kernels/cuda/products/matmul.h"

namespace satchel::kernels::cuda {

// out: [n_out]. Normal numbers; a row that has an infinity or NaN gets some factor.
cudaError_t find_row_factors(Queue& queue, const DeviceMatrix& matrix, float* out);

}  // namespace satchel::kernels::cuda
