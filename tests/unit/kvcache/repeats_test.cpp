// The filter `repeats`: what a text says again and again counts for less.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "unit/kvcache/cache_driver.h"

namespace satchel::kvcache {
namespace {

using testing::HasSubstr;

constexpr std::size_t kText = 400;

// `name` with the filter, or with another trigger as well.
std::string recipe_with_repeats(const std::string& name, std::string_view trigger = {}) {
  std::string json = Recipe::builtin(name).value().json();
  const std::string filters = "\"filter\":[", at_once = "end_of_prompt";
  json.insert(json.find(filters) + filters.size(), "{\"use\":\"repeats\",\"power\":4},");
  if (!trigger.empty()) json.replace(json.find(at_once), at_once.size(), trigger);
  return json;
}

CacheDriver driver_of(const std::string& recipe) {
  CacheDriver driver({.recipe = recipe,
                      .varies = "kvzap",
                      .keep = 0.25,
                      .n_layers = 2,
                      .n_heads = 4,
                      .head_dim = 32,
                      .backend = "cpu"});
  driver.check_attention = false;
  return driver;
}

// Every other token is the same.
std::vector<std::int32_t> ids_with_repeats() {
  std::vector<std::int32_t> ids(kText, 7);
  for (std::size_t t = 0; t < kText; t += 2) ids[t] = 1000 + static_cast<std::int32_t>(t);
  return ids;
}

// Lane-tokens kept of those that are said again, between sinks and tail.
std::size_t n_repeats_kept(CacheDriver& driver) {
  std::size_t n = 0;
  for (const std::vector<std::int32_t>& lane : driver.all_kept())
    for (const std::int32_t at : lane)
      n += at % 2 == 1 && at >= 4 && at < static_cast<std::int32_t>(kText) - 128 ? 1u : 0u;
  return n;
}

TEST(Repeats, what_is_said_again_goes_first) {
  CacheDriver plain = driver_of("kvzap"), weighed = driver_of(recipe_with_repeats("kvzap"));
  ASSERT_TRUE(plain.read(kText).ok());
  ASSERT_TRUE(weighed.read(kText, {.ids = ids_with_repeats()}).ok());
  EXPECT_EQ(plain.cache().stats().n_kept, weighed.cache().stats().n_kept);
  EXPECT_GT(n_repeats_kept(plain), 40u);
  EXPECT_LT(n_repeats_kept(weighed), n_repeats_kept(plain) / 2);
}

TEST(Repeats, without_ids_or_repeats_nothing_changes) {
  CacheDriver plain = driver_of("kvzap");
  ASSERT_TRUE(plain.read(kText).ok());
  std::vector<std::int32_t> all_differ(kText);
  for (std::size_t t = 0; t < kText; ++t) all_differ[t] = static_cast<std::int32_t>(t);
  for (const std::vector<std::int32_t>& ids : {std::vector<std::int32_t>{}, all_differ}) {
    CacheDriver weighed = driver_of(recipe_with_repeats("kvzap"));
    ASSERT_TRUE(weighed.read(kText, {.ids = ids}).ok());
    EXPECT_EQ(weighed.all_kept(), plain.all_kept());
  }
}

TEST(Repeats, count_for_a_text_that_waits_and_for_every_chunk_alike) {
  CacheDriver at_once = driver_of(recipe_with_repeats("kvzap"));
  ASSERT_TRUE(at_once.read(kText, {.ids = ids_with_repeats()}).ok());
  for (const std::size_t chunk : {kText, std::size_t{77}}) {
    CacheDriver later = driver_of(recipe_with_repeats("kvzap", "end_of_turn"));
    ASSERT_TRUE(later.read(kText, {.chunk = chunk, .ids = ids_with_repeats()}).ok());
    ASSERT_TRUE(later.cache().compactor().end_turn().ok());
    EXPECT_EQ(later.all_kept(), at_once.all_kept());
  }
}

TEST(Repeats, need_scores_of_a_prefill) {
  for (const char* name : {"kvzip", "h2o"}) {
    const auto recipe = Recipe::parse(recipe_with_repeats(name));
    ASSERT_FALSE(recipe.ok()) << name;
    EXPECT_EQ(recipe.error().code, "RECIPE");
    EXPECT_THAT(recipe.error().message, HasSubstr("scores while a text is prefilled"));
  }
}

}  // namespace
}  // namespace satchel::kvcache
