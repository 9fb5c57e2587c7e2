#include "runtime/limits/precision_floor.h"

#include <algorithm>
#include <array>

#include "runtime/limits/presets.h"

namespace satchel::runtime {
namespace {

constexpr std::array kFloors = {
    PrecisionFloor{.architecture = "gpt-oss",
                   .k_bits = 16,
                   .v_bits = 0,
                   .why = "With this model presets keep keys in 16 bits: others report that rounded "
                          "keys change its answers."},
    PrecisionFloor{.architecture = "gemma4",
                   .k_bits = 8,
                   .v_bits = 8,
                   .why = "With this model presets keep keys and values in 8 bits or more: others "
                          "report that fewer change its answers."},
};

bool is_of_preset(const kvcache::Recipe& recipe, const Preset& preset) {
  const Result<kvcache::Recipe> known = kvcache::Recipe::builtin(preset.recipe);
  if (!known.ok()) return false;
  const Result<kvcache::Recipe> kept = known->with_keep(recipe.keep());
  return kept.ok() && kept->hash() == recipe.hash();
}

}  // namespace

std::span<const PrecisionFloor> precision_floors() {
  return kFloors;
}

const PrecisionFloor* precision_floor(std::string_view architecture) {
  const auto found = std::ranges::find(kFloors, architecture, &PrecisionFloor::architecture);
  return found == kFloors.end() ? nullptr : found;
}

Result<kvcache::Recipe> suited(const kvcache::Recipe& recipe, std::string_view architecture) {
  const PrecisionFloor* const floor = precision_floor(architecture);
  const auto fits = [&](const Preset& preset) { return is_of_preset(recipe, preset); };
  if (floor == nullptr || std::ranges::none_of(presets(), fits)) return recipe;
  return recipe.with_bits_from(floor->k_bits, floor->v_bits);
}

}  // namespace satchel::runtime
