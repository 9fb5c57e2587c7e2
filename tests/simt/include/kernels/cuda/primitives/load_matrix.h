// Stands in for the header of this name in kernels/cuda.
#pragma once

#include "simt/fragments.h"

namespace satchel::kernels::cuda {

template <bool kTransposed>
void load_matrices(const std::byte* row, std::uint32_t (&out)[4]) {
  simt::load_matrices(row, kTransposed, out);
}

}  // namespace satchel::kernels::cuda
