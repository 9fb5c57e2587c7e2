// `satchel eval longbench`: LongBench, from the files that the user has.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "app/eval/commands/task.h"

namespace satchel::app {

struct LongBenchOptions {
  std::vector<std::string> files;  // FILE …
  std::size_t n_examples = 0;      // --examples, of each file; 0: all
  std::size_t n_tokens = 0;        // --length, of a prompt; 0: what the model's context leaves
  std::string question = "known";  // --question, while compressing: known or unknown
};
void add_longbench_options(CLI::App& command, LongBenchOptions& options);
// Errors: those of read_longbench_file.
Result<TaskPtr> make_longbench_task(const LongBenchOptions& options);

}  // namespace satchel::app
