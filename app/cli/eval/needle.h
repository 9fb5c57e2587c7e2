// `satchel eval needle`: what a recipe still holds of the facts in a text.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "app/cli/eval/task.h"

namespace satchel::app {

struct NeedleOptions {
  std::string file;              // --file
  bool without_context = false;  // --without-notes: asks an empty cache: what can be guessed
};
void add_needle_options(CLI::App& command, NeedleOptions& options);
// Errors: those of read_needle_file.
Result<TaskPtr> make_needle_task(const NeedleOptions& options);

}  // namespace satchel::app
