// A value of a matrix of floats. For .cu files.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/primitives/half.h"
#include "kernels/cuda/products/matmul.h"

namespace satchel::kernels::cuda {

__device__ __forceinline__ float float_at(const DeviceMatrix& matrix, std::size_t i) {
  if (matrix.type == WeightType::f32) return reinterpret_cast<const float*>(matrix.bytes)[i];
  const unsigned short bits = reinterpret_cast<const unsigned short*>(matrix.bytes)[i];
  if (matrix.type == WeightType::f16) return half_value(bits);
  return __uint_as_float(static_cast<std::uint32_t>(bits) << 16);
}

}  // namespace satchel::kernels::cuda
