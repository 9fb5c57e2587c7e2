// Any bytes as a recipe; what is taken is laid out for a small model, and read again from its own
// canonical text.
#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "kernels/base/assert.h"
#include "kvcache/layout/cache_layout.h"
#include "mutate.h"
#include "target.h"

namespace satchel::fuzz {
namespace {

using kvcache::Recipe;

Input input_of(std::string_view text) {
  return {text.begin(), text.end()};
}

std::vector<Input> seeds() {
  std::vector<Input> inputs;
  for (const kvcache::BuiltinRecipe& recipe : kvcache::builtin_recipes())
    inputs.push_back(input_of(recipe.json));
  return inputs;
}

// A built-in recipe in which one word or number has become another.
Input generate(Rng& rng) {
  constexpr std::array kWords = {
      "\"klt\"", "\"exact\"",  "\"over_budget\"", "\"protect\"", "{",     "[",
      "\"use\"", "\"bits\"",   "\"room\"",        "\"keep\"",    "1e308", "-1",
      "0",       "0.5",        "4294967296",      "\"top_k\"",   "null",  "\"tail\"",
      "128",     "\"\\u0000\""};
  const auto recipes = kvcache::builtin_recipes();
  std::string text(recipes[below(rng, recipes.size())].json);
  for (std::size_t n = 1 + below(rng, 3); n > 0; --n) {
    const std::size_t from = text.find_first_of("0123456789\"", below(rng, text.size()));
    if (from == std::string::npos) break;
    const std::size_t to = text.find_first_of(",}] \n", from);
    text.replace(from, to == std::string::npos ? to : to - from, kWords[below(rng, kWords.size())]);
  }
  return input_of(text);
}

void lay_out(const Recipe& recipe) {
  kvcache::CacheShape shape;
  for (const std::size_t window : {0u, 64u})
    shape.layers.push_back({.n_heads = 2, .n_kv_heads = 1, .head_dim = 64, .window = window});
  auto tiers = kvcache::TierLayouts::make(shape, recipe.pipeline());
  if (!tiers.ok()) return;
  const kvcache::CacheLayout layout(shape, recipe, std::move(*tiers));
  (void)layout.scratch_bytes();
}

}  // namespace

const Target target{.name = "recipe", .seeds = seeds, .generate = generate};

}  // namespace satchel::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace satchel;
  const auto recipe =
      kvcache::Recipe::parse({reinterpret_cast<const char*>(bytes), size}, "fuzzed");
  if (!recipe.ok()) return 0;
  const auto again = kvcache::Recipe::parse(recipe->json(), "again");
  SATCHEL_ASSERT(again.ok() && again->hash() == recipe->hash());
  fuzz::lay_out(*recipe);
  return 0;
}
