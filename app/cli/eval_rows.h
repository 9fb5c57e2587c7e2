// The rows of `satchel eval`: recipes as they were asked for, each at each share of tokens.
#pragma once

#include <string>
#include <vector>

#include "app/cli/console.h"
#include "kvcache/recipes/recipe.h"

namespace satchel::app {

struct Variant {
  std::string name;  // as it was asked for: a preset's, not its recipe's
  kvcache::Recipe recipe;
};

// Every recipe at its own share where `keeps` is empty. A recipe that evicts nothing, and so
// refuses a share, stands once, as it is.
//   errors  those of resolve_recipe, before anything is measured
Result<std::vector<Variant>> variants_of(const std::vector<std::string>& names,
                                         const std::vector<double>& keeps);

// A row begins with it: {"recipe", "keep"}.
Json row_of(const Variant& variant);
// For people: "compact       keep  50.0 %  "
std::string head_of(const Json& row);

double share(std::size_t part, std::size_t whole);  // 0 of nothing
// 1 - bytes / fp16_bytes; null where there was nothing to save.
Json saved(std::size_t bytes, std::size_t fp16_bytes);
std::string percent_or_dash(const Json& number);
// "70.0 % (35 of 50)"
std::string score_text(std::size_t n_right, std::size_t n_questions);

}  // namespace satchel::app
