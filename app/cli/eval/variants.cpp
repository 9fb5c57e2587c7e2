#include "app/cli/eval/variants.h"

#include <utility>

#include "runtime/governor/presets.h"

namespace satchel::app {

Result<std::vector<Variant>> variants_of(const std::vector<std::string>& names,
                                         const std::vector<double>& keeps) {
  std::vector<Variant> out;
  for (const std::string& name : names) {
    SATCHEL_TRY_ASSIGN(const kvcache::Recipe recipe, runtime::resolve_recipe(name));
    const std::size_t n_before = out.size();
    for (const double keep : keeps) {
      Result<kvcache::Recipe> kept = recipe.with_keep(keep);
      if (kept.ok()) out.push_back({name, std::move(kept).value()});
    }
    if (out.size() == n_before) out.push_back({name, recipe});
  }
  return out;
}

}  // namespace satchel::app
