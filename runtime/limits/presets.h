// Presets: the four stops of the accuracy <-> memory slider, each a recipe and a share of tokens
// kept.
#pragma once

#include <span>
#include <string_view>

#include "kvcache/recipes/recipe.h"

namespace satchel::runtime {

struct Preset {
  std::string_view name;    // "full", "balanced", "compact", "extreme"
  std::string_view title;   // for people: "Full"
  std::string_view recipe;  // a built-in recipe
  double keep;              // share of a prompt's tokens kept
};
std::span<const Preset> presets();  // from most accurate to smallest

// A preset's name, a built-in recipe's name, or a path to a recipe file (it contains '/' or ends in
// .json). Fails with not_found, RECIPE, naming all presets, then all recipes.
Result<kvcache::Recipe> resolve_recipe(std::string_view name);

}  // namespace satchel::runtime
