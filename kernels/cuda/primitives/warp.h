// Sums and maxima over the threads of a warp or of a quad; every thread gets the result. For .cu
// files.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/primitives/ceil_div.h"

namespace satchel::kernels::cuda {

template <class T>
__device__ __forceinline__ T warp_sum(T x) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2)
    x += __shfl_xor_sync(~0u, x, distance);
  return x;
}
__device__ __forceinline__ float warp_max(float x) {
  for (int distance = kWarp / 2; distance > 0; distance /= 2)
    x = fmaxf(x, __shfl_xor_sync(~0u, x, distance));
  return x;
}
__device__ __forceinline__ float quad_sum(float x) {
  x += __shfl_xor_sync(~0u, x, 1);
  return x + __shfl_xor_sync(~0u, x, 2);
}
__device__ __forceinline__ float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(~0u, x, 1));
  return fmaxf(x, __shfl_xor_sync(~0u, x, 2));
}

}  // namespace satchel::kernels::cuda
