// fp16 as caches and weights hold it, 16 bits of an integer, to and from fp32. For .cu files.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

namespace satchel::kernels::cuda {

__device__ __forceinline__ float half_value(std::uint16_t half) {
  return __half2float(__ushort_as_half(half));
}
__device__ __forceinline__ std::uint16_t half_nearest(float x) {
  return __half_as_ushort(__float2half_rn(x));
}

}  // namespace satchel::kernels::cuda
