// Cache hints for loads from the card's memory. For .cu files.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

namespace satchel::kernels::cuda {

enum class Reads {
  once,   // streamed: the first to leave, so that what is read again stays
  again,  // by other blocks
};

template <Reads kReads, class T>
__device__ __forceinline__ T load(const T* at) {
  if constexpr (kReads == Reads::once) return __ldcs(at);
  return *at;
}

// Asks for memory to come into the second-level cache, by one thread, where a card has the
// instruction (sm_90 on). Others would have to ask line by line, which keeps the loads of the
// warp waiting: an eighth slower on an H200. `at` and n_bytes are multiples of 16.
//   source  PTX ISA 8.5, cp.async.bulk.prefetch
__device__ __forceinline__ void prefetch_block([[maybe_unused]] const std::byte* at,
                                               [[maybe_unused]] unsigned n_bytes) {
#if __CUDA_ARCH__ >= 900
  asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" : : "l"(at), "r"(n_bytes) : "memory");
#endif
}

}  // namespace satchel::kernels::cuda
