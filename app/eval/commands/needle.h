// `satchel eval needle`: what a recipe still holds of the facts in a text, with any model.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "app/eval/commands/task.h"

namespace satchel::app {

struct NeedleOptions {
  std::string file;                            // --file; "": texts that are made
  std::vector<std::string> families;           // --families; empty: all
  std::vector<std::size_t> n_tokens = {1300};  // --length, each family at each
  std::size_t n_contexts = 8;                  // --contexts, of each family and length
  std::uint64_t seed = 1;                      // --seed
  std::string question = "unknown";            // --question, while compressing: unknown or known
  bool without_context = false;  // --without-notes: asks an empty cache: what can be guessed
};
void add_needle_options(CLI::App& command, NeedleOptions& options);
// Those of texts that are made, which do not go with a `file`.
void add_made_options(CLI::App& command, NeedleOptions& options, CLI::Option* file);
// Errors: those of read_needle_file; PARAM where there is no such family.
Result<TaskPtr> make_needle_task(const NeedleOptions& options);

}  // namespace satchel::app
