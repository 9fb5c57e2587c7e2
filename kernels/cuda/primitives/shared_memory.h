// The dynamic shared memory of a launch, as a T. A kernel uses one such struct and no other shared
// memory, so the launch knows its size.
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
