// Stands in for the header of this name in kernels/cuda.
#pragma once

#include "simt/fragments.h"

namespace satchel::kernels::cuda {

inline void multiply_add(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  simt::mma_16x8x16(d, a, b, d);
}

}  // namespace satchel::kernels::cuda
