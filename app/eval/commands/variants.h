// Recipes as they were asked for, each at each share of tokens.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "kvcache/recipes/recipe.h"

namespace satchel::app {

struct Variant {
  std::string name;  // as it was asked for: a preset's, not its recipe's
  kvcache::Recipe recipe;
};

// --recipes --keep
void add_variant_options(CLI::App& command, std::vector<std::string>& names,
                         std::vector<double>& keeps);
// --rounds of a benchmark.
void add_rounds_option(CLI::App& command, std::size_t& rounds, const std::string& about);
// Every recipe at its own share where `keeps` is empty. A recipe that never evicts has no share and
// stands once, as it is.
//   errors  those of resolve_recipe and Recipe::with_keep, before anything is measured
Result<std::vector<Variant>> variants_of(const std::vector<std::string>& names,
                                         const std::vector<double>& keeps);

}  // namespace satchel::app
