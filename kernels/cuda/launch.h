// How every kernel is launched: one place that asks for large shared memory and passes errors on.
// For .cu files only.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace satchel::kernels::cuda {

inline constexpr unsigned kWarp = 32;
inline constexpr std::size_t kSharedByDefault =
    48 * 1024;  // more must be asked for, kernel by kernel

struct Shape {
  dim3 grid, block;
  std::size_t shared_bytes = 0;
};

constexpr unsigned blocks_of(std::size_t n, unsigned per_block) {
  return static_cast<unsigned>((n + per_block - 1) / per_block);
}

// Queued; what the kernel itself does wrong comes out at a later call. An empty grid is no error.
template <class... Parameters, class... Arguments>
cudaError_t launch(cudaStream_t stream, const Shape& shape, void (*kernel)(Parameters...),
                   Arguments... arguments) {
  if (shape.grid.x == 0 || shape.grid.y == 0 || shape.grid.z == 0) return cudaSuccess;
  if (shape.shared_bytes > kSharedByDefault) {
    const cudaError_t error = cudaFuncSetAttribute(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shape.shared_bytes));
    if (error != cudaSuccess) return error;
  }
  cudaLaunchConfig_t config = {};
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.shared_bytes;
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

}  // namespace satchel::kernels::cuda
