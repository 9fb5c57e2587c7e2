// A recipe told in full: what it keeps, its stages with every parameter, where it comes from and where
// it differs from that.
#pragma once

#include <string>

#include "app/cli/console.h"
#include "kvcache/recipes/recipe.h"

namespace satchel::app {

// What no cache has as it comes: weights that were trained, for one model or together with it. Empty:
// any model's can have the recipe.
std::string needs_of(const kvcache::Recipe& recipe);
// name: as runtime::resolve_recipe takes it. As text or JSON; the exit code.
//   errors  those of resolve_recipe
int explain_recipe(Console& console, const std::string& name);

}  // namespace satchel::app
