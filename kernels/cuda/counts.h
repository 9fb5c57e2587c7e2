// How many blocks, pieces or tiles a number of things makes. For host and card.
#pragma once

#include <cstddef>

namespace satchel::kernels::cuda {

constexpr unsigned blocks_of(std::size_t n, std::size_t per_block) {
  return static_cast<unsigned>((n + per_block - 1) / per_block);
}

}  // namespace satchel::kernels::cuda
