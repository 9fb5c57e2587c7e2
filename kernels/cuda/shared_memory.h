// The shared memory that a launch asked for, as a T. A kernel has one such struct and nothing else:
// so its size is known where it is launched.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace satchel::kernels::cuda {

template <class T>
__device__ __forceinline__ T& shared_memory() {
  extern __shared__ __align__(128) std::byte memory[];
  return *reinterpret_cast<T*>(memory);
}

}  // namespace satchel::kernels::cuda
