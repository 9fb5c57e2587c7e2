// Copies from device memory into shared memory that run beside the block's work. For .cu files.
//   use     copy_async() as often as wanted, then commit_copies(); wait_copies<n>() returns when all
//           but the last n such groups of this thread are there. Other threads' need a barrier too
//   limits  below sm_80 a copy is done when it returns. The executor has a header of this name of its
//           own, where they arrive when they are waited for
//   source  PTX ISA 8.5, cp.async
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace satchel::kernels::cuda {

// 16 bytes, both at a multiple of 16: past the first level of cache, for what is read once.
__device__ __forceinline__ void copy_async_16(void* to, const void* from) {
#if __CUDA_ARCH__ >= 800
  const auto there = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(there), "l"(from) : "memory");
#else
  *static_cast<uint4*>(to) = *static_cast<const uint4*>(from);
#endif
}
// 4 bytes, both at a multiple of 4.
__device__ __forceinline__ void copy_async_4(void* to, const void* from) {
#if __CUDA_ARCH__ >= 800
  const auto there = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(there), "l"(from) : "memory");
#else
  *static_cast<std::uint32_t*>(to) = *static_cast<const std::uint32_t*>(from);
#endif
}
__device__ __forceinline__ void commit_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
template <int kLeft>
__device__ __forceinline__ void wait_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(kLeft) : "memory");
#endif
}

}  // namespace satchel::kernels::cuda
