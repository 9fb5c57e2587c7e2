// Repacks weights for the card: decodes the file's format and writes tile_layout.h. Runs in main
// memory.
#pragma once

#include <vector>

#include "kernels/contract/backend.h"

namespace satchel::kernels::cuda {

// source: of a type that tile_shape() knows.
std::vector<std::byte> pack_tiles(const WeightSource& source);

}  // namespace satchel::kernels::cuda
