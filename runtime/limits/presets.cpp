#include "runtime/limits/presets.h"

#include <array>
#include <fstream>
#include <string>

namespace satchel::runtime {
namespace {

constexpr std::array kPresets = {
    Preset{.name = "full", .title = "Full", .recipe = "full", .keep = 1},
    Preset{.name = "balanced", .title = "Balanced", .recipe = "ladder-4", .keep = 1},
    Preset{.name = "compact", .title = "Compact", .recipe = "satchel", .keep = 0.5},
    Preset{.name = "extreme", .title = "Extreme", .recipe = "satchel", .keep = 0.25},
};
constexpr std::size_t kRecipeBytesMax = 64u << 10;  // as a built-in may have

Result<kvcache::Recipe> from_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    return Error{ErrorKind::not_found, "RECIPE", "The recipe \"" + path + "\" cannot be opened."};
  std::string text(kRecipeBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > kRecipeBytesMax)
    return Error{ErrorKind::invalid, "RECIPE",
                 "The recipe \"" + path + "\" is longer than 64 KiB."};
  return kvcache::Recipe::parse(text);
}

Error unknown(std::string_view name, const Error& no_recipe) {
  std::string known;
  for (const Preset& preset : kPresets)
    known += (known.empty() ? "" : ", ") + std::string(preset.name);
  return {
      no_recipe.kind, no_recipe.code,
      "There is no preset \"" + std::string(name) + "\". Presets: " + known +
          ". You can also name a recipe or a recipe file (with a / in its name, or ending in "
          ".json). " +
          no_recipe.message};
}

}  // namespace

std::span<const Preset> presets() {
  return kPresets;
}

Result<kvcache::Recipe> resolve_recipe(std::string_view name) {
  if (name.find('/') != std::string_view::npos || name.ends_with(".json"))
    return from_file(std::string(name));
  for (const Preset& preset : kPresets) {
    if (preset.name != name) continue;
    SATCHEL_TRY_ASSIGN(const kvcache::Recipe recipe, kvcache::Recipe::builtin(preset.recipe));
    return recipe.with_keep(preset.keep);
  }
  Result<kvcache::Recipe> recipe = kvcache::Recipe::builtin(name);
  if (recipe.ok() || recipe.error().kind != ErrorKind::not_found) return recipe;
  return unknown(name, recipe.error());
}

}  // namespace satchel::runtime
