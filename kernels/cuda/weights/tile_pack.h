// Repacks weights for the card: decodes the file's format and writes tile_layout.h. Runs in main
// memory.
#pragma once

#include <cstddef>

#include "kernels/contract/backend.h"

namespace satchel::kernels::cuda {

// Tiles first_tile … of a matrix, one after the other; every byte of them is written. source: of a
// type that tile_shape() knows. Several threads may each pack their own tiles.
void pack_tiles(const WeightSource& source, std::size_t first_tile, std::size_t n_tiles,
                std::byte* out);

}  // namespace satchel::kernels::cuda
