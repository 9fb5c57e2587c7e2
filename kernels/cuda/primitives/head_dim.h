// The longest heads that the kernels take: their tiles and shared memory are sized by it. Models
// with longer ones (Gemma 4) run on the other backends.
#pragma once

#include <cstddef>

#include "kernels/contract/page_layout.h"

namespace satchel::kernels::cuda {

inline constexpr std::size_t kCudaHeadDimMax = 256;
inline constexpr std::size_t kCudaQuadsMax = kCudaHeadDimMax / kQuad;

}  // namespace satchel::kernels::cuda
