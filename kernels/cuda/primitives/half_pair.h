// fp32 values as sums of two fp16, whose products by the matrix instruction are as exact as in
// fp32. For .cu files.
//   numbers  the pair has 22 bits of a value between 2^-3 and 65504; smaller values have an
//            absolute error of 2^-25
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/cuda/primitives/half.h"

namespace satchel::kernels::cuda {

// Two neighbours each: the first in the lower half.
struct HalfPair {
  std::uint32_t high, low;
};
__device__ __forceinline__ HalfPair split_pair(float first, float second) {
  const std::uint16_t a = half_nearest(first), b = half_nearest(second);
  const std::uint16_t of_a = half_nearest(first - half_value(a)),
                      of_b = half_nearest(second - half_value(b));
  return {a | static_cast<std::uint32_t>(b) << 16, of_a | static_cast<std::uint32_t>(of_b) << 16};
}

}  // namespace satchel::kernels::cuda
