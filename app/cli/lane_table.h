// A model's lane table: made by a command, or which one is in use.
#pragma once

#include <span>

#include "app/cli/console.h"
#include "app/cli/kept.h"
#include "app/paths.h"
#include "kvcache/recipes/recipe.h"
#include "runtime/engine.h"
#include "runtime/profile/lane_tables.h"
#include "runtime/profile/rules/lane_rule.h"

namespace satchel::app {

// By a rule, over these texts (empty: those that ship, or that the rule makes), in memory of its own.
Result<runtime::LaneFindings> profile_lanes(runtime::Engine& engine, const runtime::LaneRule& rule,
                                            std::span<const runtime::ProfileText> texts,
                                            Console& console);

bool wants_lane_table(const kvcache::Recipe& recipe);
// Before measuring: a recipe that wants a table is measured with one from the first text on. Does
// nothing where the model has one or `recipe` wants none.
Result<void> ensure_lane_table(runtime::Engine& engine, const kvcache::Recipe& recipe,
                               Console& console);

// Which one a model is opened with.
using LaneTableInUse = KeptInUse<kvcache::LaneShares>;
// Warns of one that is damaged and passed over.
LaneTableInUse lane_table_in_use(const Paths& paths, const std::string& fingerprint,
                                 const runtime::ModelConfig& config, Console& console);

}  // namespace satchel::app
