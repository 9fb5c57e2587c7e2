// The names of the recipes that ship.
#pragma once

#include <string>
#include <vector>

#include "kvcache/recipes/recipe.h"

namespace satchel::test {

inline std::vector<std::string> usable_recipes() {
  std::vector<std::string> names;
  for (const kvcache::BuiltinRecipe& each : kvcache::builtin_recipes())
    names.emplace_back(each.name);
  return names;
}

}  // namespace satchel::test
