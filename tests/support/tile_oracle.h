// Tiles of a quantised matrix written value by value, as tile_layout.h places them: what the
// packer, which writes word by word, must give.
#pragma once

#include <cstddef>
#include <vector>

#include "kernels/contract/backend.h"

namespace satchel::test {

// source: of a type that has tiles.
std::vector<std::byte> tiles_value_by_value(const kernels::WeightSource& source);

}  // namespace satchel::test
