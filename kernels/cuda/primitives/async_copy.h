// Asynchronous copies from device to shared memory. For .cu files; the executor replaces this
// header by its own, in which copies arrive when they are waited for.
//   order   a thread's copies since its last commit form a group; wait_for_copies<n>() waits for
//           all of its groups except the last n. Other threads see the data after a barrier.
//   sm_75   has no such copies; they are synchronous there
//   source  PTX ISA 8.5, cp.async
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace satchel::kernels::cuda {

// 16 bytes, aligned to that on both sides; past L1, which has no use for them.
__device__ __forceinline__ void copy_16_bytes_async(void* to, const void* from) {
#if __CUDA_ARCH__ >= 800
  const auto there = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" : : "r"(there), "l"(from) : "memory");
#else
  *static_cast<uint4*>(to) = *static_cast<const uint4*>(from);
#endif
}
// 4 bytes, likewise; the instruction has no way past L1 for so few.
__device__ __forceinline__ void copy_4_bytes_async(void* to, const void* from) {
#if __CUDA_ARCH__ >= 800
  const auto there = static_cast<unsigned>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" : : "r"(there), "l"(from) : "memory");
#else
  *static_cast<std::uint32_t*>(to) = *static_cast<const std::uint32_t*>(from);
#endif
}
__device__ __forceinline__ void commit_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" : : : "memory");
#endif
}
template <int kLeft>
__device__ __forceinline__ void wait_for_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" : : "n"(kLeft) : "memory");
#endif
}

}  // namespace satchel::kernels::cuda
