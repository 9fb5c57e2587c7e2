// How many blocks, pieces or tiles a number of things makes, and what an array takes where the next
// begins at a multiple of 256 bytes, as allocations do. For host and card.
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
