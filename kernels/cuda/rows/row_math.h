// Arithmetic on rows of activations shared by several kernels, so that all give the same bytes. For
// .cu files.
#pragma once

#include <cuda_runtime.h>

#include <cmath>

#include "kernels/contract/backend.h"
#include "kernels/cuda/device/block_sum.h"

namespace satchel::kernels::cuda {

inline constexpr unsigned kRowThreads = 256;  // of a block that sums a row: the order depends on it

// 1 / sqrt(mean(row²) + epsilon), for every thread of the block. Sums run in fp32: their order is
// fixed, and a row has some thousands of values.
__device__ __forceinline__ float norm_factor(const float* row, std::size_t width, float epsilon,
                                             BlockSums<kRowThreads>& sums) {
  float squares = 0;
  for (std::size_t i = threadIdx.x; i < width; i += kRowThreads) squares += row[i] * row[i];
  const float sum = block_sum(squares, sums);
  return 1.0f / sqrtf(sum / static_cast<float>(width) + epsilon);
}

// x · (1 + tanh(t)) / 2 is x / (1 + exp(-2t)), which loses nothing where tanh is near -1. Clamping
// passes a NaN on.
template <Activation kActivation>
__device__ __forceinline__ float gated(float x, float u) {
  constexpr float kRootOf2OverPi = 0.797884560802865f;
  if (kActivation == Activation::silu) return x / (1.0f + expf(-x)) * u;
  if (kActivation == Activation::clamped_silu) {
    const float g = x > kClampedMost ? kClampedMost : x;
    const float at_most = u > kClampedMost ? kClampedMost : u;
    return g / (1.0f + expf(-kClampedSlope * g)) *
           ((at_most < -kClampedMost ? -kClampedMost : at_most) + 1.0f);
  }
  if (kActivation == Activation::sigmoid) return u / (1.0f + expf(-x));
  if (kActivation == Activation::relu) return (x < 0.0f ? 0.0f : x) * u;
  return x / (1.0f + expf(-2.0f * kRootOf2OverPi * (x + 0.044715f * x * x * x))) * u;
}

}  // namespace satchel::kernels::cuda
