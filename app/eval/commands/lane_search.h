// Makes a model's head-budget profile, for the commands that show or need one.
#pragma once

#include <span>

#include "app/cli/console.h"
#include "app/eval/lane_rules/lane_rule.h"
#include "kvcache/recipes/recipe.h"
#include "runtime/engine.h"

namespace satchel::app {

// By a rule, over these texts (empty: those that ship, or that the rule makes), in memory of its
// own.
Result<eval::LaneFindings> profile_lanes(runtime::Engine& engine, const eval::LaneRule& rule,
                                         std::span<const runtime::ProfileText> texts,
                                         Console& console);

bool needs_head_budgets(const kvcache::Recipe& recipe);
// Before measuring: a recipe that wants a table is measured with one from the first text on. Does
// nothing where the model has one or `recipe` wants none.
Result<void> ensure_head_budgets(runtime::Engine& engine, const kvcache::Recipe& recipe,
                                 Console& console);

}  // namespace satchel::app
