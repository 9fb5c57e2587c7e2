// What the benchmarks of recipes have in common as commands.
#pragma once

#include <memory>

#include "app/cli/on_run.h"
#include "app/cli/options.h"
#include "app/eval/commands/variants.h"

namespace satchel::app {

// --recipes --keep and the options of output and model, behind its own; then `run`.
//   Of   has common, recipes and keeps
template <class Of, class Run>
void add_recipe_bench(CLI::App& command, const Choose& choose, const std::shared_ptr<Of>& options,
                      const Run& run) {
  add_variant_options(command, options->recipes, options->keeps);
  add_output_options(command, options->common);
  add_model_options(command, options->common);
  on_run(command, choose, options, run);
}

}  // namespace satchel::app
