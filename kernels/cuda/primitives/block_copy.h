// A block's own copy of what its loops read again and again: a struct in device memory that they
// have by reference would be loaded from there each time, as far as the compiler knows that it may
// have changed, and in registers it has no room. For .cu files.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

namespace satchel::kernels::cuda {

// All threads of the block call it; the copy is there when it returns.
template <class T>
__device__ __forceinline__ void copy_for_block(T& shared, const T& there) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % sizeof(std::uint32_t) == 0);
  const auto* from = reinterpret_cast<const std::uint32_t*>(&there);
  auto* to = reinterpret_cast<std::uint32_t*>(&shared);
  for (unsigned i = threadIdx.x; i < sizeof(T) / sizeof(std::uint32_t); i += blockDim.x)
    to[i] = from[i];
  __syncthreads();
}

}  // namespace satchel::kernels::cuda
