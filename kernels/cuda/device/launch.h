// The only place that launches kernels: it requests large shared memory and returns errors. For .cu
// files only.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <type_traits>

#include "kernels/base/assert.h"
#include "kernels/cuda/device/queue.h"
#include "kernels/cuda/primitives/ceil_div.h"

namespace satchel::kernels::cuda {

// The first words of every kernel. On cards that can (sm_90 on), the next launch is set up while
// this one runs, and waits here until this one's writes can be seen. A kernel that ended without
// these words would let the next one go on before the one before it had ended.
//   source  CUDA programming guide, "Programmatic Dependent Launch"; PTX ISA 8.5, griddepcontrol
__device__ __forceinline__ void wait_for_launch_before() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" : : : "memory");
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

inline constexpr std::size_t kSharedByDefault =
    48 * 1024;  // more must be requested for each kernel

struct Shape {
  dim3 grid, block;
  std::size_t shared_bytes = 0;
  friend bool operator==(const Shape& a, const Shape& b) {
    const auto same = [](const dim3& x, const dim3& y) {
      return x.x == y.x && x.y == y.y && x.z == y.z;
    };
    return same(a.grid, b.grid) && same(a.block, b.block) && a.shared_bytes == b.shared_bytes;
  }
};

template <class T>
bool same(const T& a, const T& b) {
  if constexpr (std::is_empty_v<T>)
    return true;
  else
    return a == b;  // structs define ==, because their padding may differ
}

// A launch as Work.
template <class... Parameters>
struct Launch {
  Shape shape;
  void (*kernel)(Parameters...);
  std::tuple<Parameters...> arguments;
  std::size_t* shared_bytes_most;  // Queue::shared_bytes_of(kernel) if more must be requested
  bool is_set_up_early;            // wait_for_launch_before()

  cudaError_t send(cudaStream_t stream) const {
    if (shape.shared_bytes > kSharedByDefault) {
      const std::size_t most = std::max(*shared_bytes_most, shape.shared_bytes);
      const cudaError_t error = cudaFuncSetAttribute(
          kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(most));
      if (error != cudaSuccess) return error;
      *shared_bytes_most = most;
    }
    cudaLaunchConfig_t config = {};
    config.gridDim = shape.grid;
    config.blockDim = shape.block;
    config.dynamicSmemBytes = shape.shared_bytes;
    config.stream = stream;
    cudaLaunchAttribute early = {};
    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    config.attrs = &early;
    config.numAttrs = is_set_up_early ? 1 : 0;
    return std::apply(
        [&](const Parameters&... each) { return cudaLaunchKernelEx(&config, kernel, each...); },
        arguments);
  }
  friend bool operator==(const Launch& a, const Launch& b) {
    return a.kernel == b.kernel && a.shape == b.shape &&
           std::apply(
               [&](const Parameters&... of_a) {
                 return std::apply(
                     [&](const Parameters&... of_b) { return (same(of_a, of_b) && ...); },
                     b.arguments);
               },
               a.arguments);
  }
};

inline constexpr unsigned kGridMost = 65535;  // second and third length of a grid

// launch_some(first, n) for stretches of the items, each as many as these lengths may be.
template <class LaunchSome>
cudaError_t launch_stretches(std::size_t n_items, const LaunchSome& launch_some) {
  for (std::size_t first = 0; first < n_items; first += kGridMost) {
    const auto n = static_cast<unsigned>(std::min<std::size_t>(n_items - first, kGridMost));
    if (const cudaError_t error = launch_some(first, n); error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

// Queues a launch. Errors of the kernel itself are reported by a later call. An empty grid is no
// error.
template <class... Parameters, class... Arguments>
cudaError_t launch(Queue& queue, const Shape& shape, void (*kernel)(Parameters...),
                   Arguments... arguments) {
  if (shape.grid.x == 0 || shape.grid.y == 0 || shape.grid.z == 0) return cudaSuccess;
  SATCHEL_ASSERT(shape.grid.y <= kGridMost && shape.grid.z <= kGridMost);
  std::size_t* const most = shape.shared_bytes > kSharedByDefault
                                ? &queue.shared_bytes_of(reinterpret_cast<const void*>(kernel))
                                : nullptr;
  return queue.add(
      Launch<Parameters...>{shape, kernel, {arguments...}, most, queue.sets_up_early()});
}

}  // namespace satchel::kernels::cuda
