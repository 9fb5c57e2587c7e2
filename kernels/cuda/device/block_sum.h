// Sums over a CUDA block in a fixed order: threads of a warp by butterflies, then warps in order.
// For .cu files.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/primitives/warp.h"

namespace satchel::kernels::cuda {

template <unsigned kThreads>
struct BlockSums {
  float of_warp[kThreads / kWarp];
};

// Of all threads' x, the same for every thread. Ends behind a barrier.
template <unsigned kThreads>
__device__ __forceinline__ float block_sum(float x, BlockSums<kThreads>& sums) {
  x = warp_sum(x);
  if (threadIdx.x % kWarp == 0) sums.of_warp[threadIdx.x / kWarp] = x;
  __syncthreads();
  float all = 0;
  for (unsigned w = 0; w < kThreads / kWarp; ++w) all += sums.of_warp[w];
  return all;
}

}  // namespace satchel::kernels::cuda
