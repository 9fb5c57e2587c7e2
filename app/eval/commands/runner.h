// The runner: measures every unit of every task, item by item, all recipes on one item before the
// next. What the log holds already is not measured again.
#pragma once

#include <span>
#include <vector>

#include "app/eval/commands/log.h"
#include "app/eval/commands/task.h"
#include "app/eval/commands/variants.h"

namespace satchel::app {

struct Unit {
  std::size_t task = 0, variant = 0, item = 0;
};
// What measuring one unit gave.
struct Record {
  Unit unit;
  Measured measured;
};

struct UnitRun {
  runtime::Engine& engine;
  std::span<const TaskPtr> tasks;  // prepared
  std::span<const Variant> variants;
  Json settings = Json::object();  // of the run, that change what is measured: the back end
  EvalLog* log = nullptr;          // not owned; nullptr: nothing is kept
  Console& console;                // progress
};
// In the order measured.
//   errors  the first of a unit; cancelled/STOPPED says how to go on
Result<std::vector<Record>> measure_units(const UnitRun& run);

}  // namespace satchel::app
