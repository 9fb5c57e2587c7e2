// fp16 as caches and weights hold it, 16 bits of an integer, to and from fp32. For .cu files.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstring>

namespace satchel::kernels::cuda {

__device__ __forceinline__ float half_value(std::uint16_t half) {
  return __half2float(__ushort_as_half(half));
}
__device__ __forceinline__ std::uint16_t half_nearest(float x) {
  return __half_as_ushort(__float2half_rn(x));
}

// Two halves as one word, the first below. Copies of all four bytes cost nothing; nvcc does not see
// through halves put together.
__device__ __forceinline__ __half2 as_halves(std::uint32_t pair) {
  __half2 out;
  std::memcpy(&out, &pair, sizeof out);
  return out;
}
__device__ __forceinline__ std::uint32_t as_pair(const __half2& halves) {
  std::uint32_t out;
  std::memcpy(&out, &halves, sizeof out);
  return out;
}
__device__ __forceinline__ std::uint32_t nearest_pair(float first, float second) {
  return as_pair(__floats2half2_rn(first, second));
}

}  // namespace satchel::kernels::cuda
