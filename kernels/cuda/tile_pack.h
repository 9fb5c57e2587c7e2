// Weights on their way to a card: taken apart as the file has them, laid out as tile_layout.h says.
// Runs in main memory.
#pragma once

#include <vector>

#include "kernels/contract/backend.h"

namespace satchel::kernels::cuda {

// source: of a type that tile_shape() knows.
std::vector<std::byte> pack_tiles(const WeightSource& source);

}  // namespace satchel::kernels::cuda
