// Stands in for the header of this name in kernels/cuda.
#pragma once

#include <cuda_runtime.h>

#include "simt/fragments.h"

namespace satchel::kernels::cuda {

inline void multiply_add_half(int (&d)[4], std::uint32_t a_above, std::uint32_t a_below,
                              std::uint32_t b) {
  simt::mma_bytes_16x8x16(d, a_above, a_below, b);
}
inline void multiply_add(int (&d)[4], const std::uint32_t (&a)[4], const uint2& b) {
  const std::uint32_t both[2] = {b.x, b.y};
  simt::mma_bytes_16x8x32(d, a, both);
}

}  // namespace satchel::kernels::cuda
