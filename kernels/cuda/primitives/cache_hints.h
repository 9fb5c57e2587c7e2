// Cache hints for loads from the card's memory. For .cu files.
#pragma once

#include <cuda_runtime.h>

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

}  // namespace satchel::kernels::cuda
