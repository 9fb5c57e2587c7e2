// A model's lane table, made by a command.
#pragma once

#include <span>

#include "app/cli/console.h"
#include "kvcache/recipes/recipe.h"
#include "runtime/engine.h"
#include "runtime/profile/rules/lane_rule.h"

namespace satchel::app {

// By a rule, over these texts (empty: those that ship, or that the rule makes), in memory of its own.
Result<runtime::LaneFindings> profile_lanes(runtime::Engine& engine, const runtime::LaneRule& rule,
                                            std::span<const runtime::ProfileText> texts,
                                            Console& console);

// Before measuring: a recipe that wants a table is measured with one from the first text on. Does
// nothing where the model has one or `recipe` wants none.
Result<void> ensure_lane_table(runtime::Engine& engine, const kvcache::Recipe& recipe,
                               Console& console);

}  // namespace satchel::app
