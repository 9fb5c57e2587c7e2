#include "app/eval/commands/variants.h"

#include <utility>

#include "app/cli/options.h"
#include "kvcache/recipes/pipeline.h"
#include "runtime/limits/presets.h"

namespace satchel::app {

void add_rounds_option(CLI::App& command, std::size_t& rounds, const std::string& about) {
  command.add_option("--rounds", rounds, about)->check(CLI::Range(1, 100))->capture_default_str();
}

void add_variant_options(CLI::App& command, std::vector<std::string>& names,
                         std::vector<double>& keeps) {
  command.add_option("--recipes", names, "Presets, recipes or recipe files")
      ->delimiter(',')
      ->capture_default_str();
  command
      .add_option(
          "--keep", keeps,
          "Shares of a prompt's tokens to keep; every recipe is measured at each. Default: the "
          "recipe's own. A recipe that evicts nothing is measured once")
      ->delimiter(',')
      ->type_name("SHARE")
      ->check(share_range());
}

Result<std::vector<Variant>> variants_of(const std::vector<std::string>& names,
                                         const std::vector<double>& keeps) {
  std::vector<Variant> out;
  for (const std::string& name : names) {
    SATCHEL_TRY_ASSIGN(const kvcache::Recipe recipe, runtime::resolve_recipe(name));
    if (keeps.empty() || !recipe.pipeline().may_evict()) {
      out.push_back({name, recipe});
      continue;
    }
    for (const double keep : keeps) {
      SATCHEL_TRY_ASSIGN(kvcache::Recipe kept, recipe.with_keep(keep));
      out.push_back({name, std::move(kept)});
    }
  }
  return out;
}

}  // namespace satchel::app
