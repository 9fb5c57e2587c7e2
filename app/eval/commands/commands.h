// The commands of `satchel` that measure a recipe or learn something of a model.
#pragma once

#include "app/cli/commands.h"

namespace satchel::app {

void add_bench(CLI::App& app, const Choose& choose);
void add_bench_resume(CLI::App& bench, const Choose& choose);
void add_bench_drafts(CLI::App& bench, const Choose& choose);
void add_bench_reading(CLI::App& bench, const Choose& choose);
void add_bench_serving(CLI::App& bench, const Choose& choose);
void add_bench_blocks(CLI::App& bench, const Choose& choose);
void add_eval(CLI::App& app, const Choose& choose);
void add_profile(CLI::App& app, const Choose& choose);
void add_calibrate(CLI::App& app, const Choose& choose);

}  // namespace satchel::app
