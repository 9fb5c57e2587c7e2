// The powers of two that fit tokens and rows of weights into fp16. For .cu files.
#pragma once

#include <cuda_runtime.h>

namespace satchel::kernels::cuda {

inline constexpr unsigned kHalvesExponent = 14;
// The power of two that brings a magnitude with these bits (finite) into [2^14, 2^15); from 2^-113
// to 2^126.
__device__ __forceinline__ float factor_to_halves(unsigned bits) {
  constexpr unsigned kBias = 127, kMost = 2 * kBias - 1;
  const unsigned wanted = 2 * kBias + kHalvesExponent - (bits >> 23);
  return __uint_as_float((wanted > kMost ? kMost : wanted) << 23);
}
// 2^14 over that.
__device__ __forceinline__ float size_of(float factor) {
  return static_cast<float>(1u << kHalvesExponent) / factor;
}

}  // namespace satchel::kernels::cuda
