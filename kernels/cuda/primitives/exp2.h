// 2^x in one instruction, to 2 units of its last place. For .cu files.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

namespace satchel::kernels::cuda {

// 0 below the normal numbers.
__device__ __forceinline__ float exp2_of(float x) {
#ifdef __CUDA_ARCH__
  float out;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(out) : "f"(x));
  return out;
#else
  return exp2f(x);
#endif
}

}  // namespace satchel::kernels::cuda
