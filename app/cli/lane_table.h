// A model's lane table, made by a command.
#pragma once

#include <memory>
#include <span>

#include "app/cli/console.h"
#include "kvcache/recipes/recipe.h"
#include "runtime/engine.h"
#include "runtime/profile/lane_profiler.h"

namespace satchel::app {

// Over these texts (empty: those that ship), all done, in memory of its own.
Result<std::unique_ptr<runtime::LaneProfiler>> profile_lanes(
    runtime::Engine& engine, std::span<const runtime::ProfileText> texts, Console& console);

// Before measuring: a recipe that wants a table is measured with one from the first text on. Does
// nothing where the model has one or `recipe` wants none.
Result<void> ensure_lane_table(runtime::Engine& engine, const kvcache::Recipe& recipe,
                               Console& console);

}  // namespace satchel::app
