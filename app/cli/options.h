// Options that several commands share, with their help texts in one place.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "app/cli/sampling_options.h"
#include "app/number_options.h"
#include "app/paths.h"

namespace satchel::app {

struct Options {
  std::string model;     // --model
  std::string recipe;    // --recipe
  double keep = 0;       // --keep; 0: as the recipe says
  std::string budget;    // --budget
  bool on_disk = false;  // --on-disk
  std::string store;     // --store
  std::string key_file;  // --key-file
  std::string backend = "auto";
  std::string cpu_level;
  int activations = 16;  // --activations, bits
  std::string chat_template;
  std::size_t threads = 0;
  bool json = false, quiet = false;
  SamplingOptions sampling;
};

// Of --keep: 0.01 to 1. CLI11's own range lets NaN through.
CLI::Validator share_range();

// Of a name or a folder: "" would silently mean the default.
CLI::Validator not_empty();

void add_output_options(CLI::App& command, Options& options);  // --json --quiet
void add_store_option(CLI::App& command, Options& options);    // --store --key-file
void add_key_option(CLI::App& command, Options& options);      // --key-file
void add_model_options(CLI::App& command, Options& options);   // --model --backend --threads …
// --recipe --keep --budget; `fallback`: what the command takes where --recipe is not given.
void add_recipe_options(CLI::App& command, Options& options, const std::string& fallback = "full");
// --output of a command whose result is otherwise kept for the model; `file` outlives the parse.
void add_output_file(CLI::App& command, std::string& file, const std::string& about);

}  // namespace satchel::app
