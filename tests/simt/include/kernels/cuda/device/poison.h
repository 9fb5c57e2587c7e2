// Stands in for the header of this name in kernels/cuda: blocks are allocations to the executor.
#pragma once

#include "simt/memory.h"

namespace satchel::kernels::cuda {

inline constexpr std::size_t kGuardBytes = 256;
inline void mark_taken(std::byte* at, std::size_t bytes) {
  simt::begin_allocation(at, bytes);
}
inline void mark_given(std::byte* at) {
  simt::end_allocation(at);
}

}  // namespace satchel::kernels::cuda
