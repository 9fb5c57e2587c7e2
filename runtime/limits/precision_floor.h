// Precision floors: the fewest bits that a kind of model bears, where fewer are known to change
// what it says.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "kvcache/recipes/recipe.h"

namespace satchel::runtime {

struct PrecisionFloor {
  std::string_view architecture;
  std::size_t k_bits, v_bits;  // of each number; 0: any
  std::string_view why;        // for people
};
// From what others report (docs/models.md, "What models bear"), until it is measured here.
std::span<const PrecisionFloor> precision_floors();
const PrecisionFloor* precision_floor(std::string_view architecture);  // null: every preset suits

// The recipe for a model of the architecture: a preset's recipe, whatever share it keeps and by
// whatever name it was chosen, stays above the floor, also where memory is short. Others stay as
// they are.
Result<kvcache::Recipe> suited(const kvcache::Recipe& recipe, std::string_view architecture);

}  // namespace satchel::runtime
