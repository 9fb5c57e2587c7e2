// Ceiling division for blocks, splits and tiles, and array sizes rounded up to 256 bytes, the
// alignment of allocations. For host and device code.
#pragma once

#include <cstddef>

namespace satchel::kernels::cuda {

inline constexpr unsigned kWarp = 32;  // threads

constexpr unsigned blocks_of(std::size_t n, std::size_t per_block) {
  return static_cast<unsigned>((n + per_block - 1) / per_block);
}

constexpr std::size_t padded256(std::size_t bytes) {
  return (bytes + 255) / 256 * 256;
}

}  // namespace satchel::kernels::cuda
