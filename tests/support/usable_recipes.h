// Recipes that some cache can have; others are only listed, and a cache of them is refused.
#pragma once

#include <string>
#include <vector>

#include "kvcache/cache_shape.h"
#include "kvcache/recipes/recipe.h"
#include "kvcache/stages/pipeline.h"

namespace satchel::test {

inline bool is_only_listed(const kvcache::Recipe& recipe) {
  const Result<void> can = recipe.pipeline().check({});
  return !can.ok() && can.error().kind == ErrorKind::unsupported;
}

inline std::vector<std::string> usable_recipes() {
  std::vector<std::string> names;
  for (const kvcache::BuiltinRecipe& each : kvcache::builtin_recipes())
    if (!is_only_listed(kvcache::Recipe::builtin(each.name).value())) names.emplace_back(each.name);
  return names;
}

}  // namespace satchel::test
