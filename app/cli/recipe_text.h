// A recipe explained in full: what it keeps, its stages with every parameter, its source, and where
// it differs from that.
#pragma once

#include <string>

#include "app/cli/console.h"
#include "kvcache/recipes/recipe.h"

namespace satchel::app {

// What the recipe needs beyond the model: weights trained for it or with it. Empty: it runs on any
// model.
std::string needs_of(const kvcache::Recipe& recipe);
// name: as runtime::resolve_recipe takes it. As text or JSON; the exit code.
//   errors  those of resolve_recipe
int explain_recipe(Console& console, const std::string& name);

}  // namespace satchel::app
