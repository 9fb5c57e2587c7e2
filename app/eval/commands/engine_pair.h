// Two engines of one model: what the first one's chat has left on disk, the second opens.
#pragma once

#include <memory>

#include "app/cli/console.h"
#include "app/cli/options.h"
#include "kvcache/recipes/recipe.h"
#include "runtime/engine.h"

namespace satchel::app {

struct EnginePair {
  std::unique_ptr<runtime::Engine> first, second;
};
// Both with the head-budget profile that the recipe wants; it is made once.
Result<EnginePair> open_engine_pair(const Options& options, const kvcache::Recipe& recipe,
                                    Console& console);

}  // namespace satchel::app
