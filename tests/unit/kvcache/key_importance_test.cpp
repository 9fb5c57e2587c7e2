// What keys are worth by themselves: the scorer, and the keys that are learned from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numeric>
#include <set>

#include "support/lanes.h"
#include "unit/kvcache/cache_driver.h"
#include "unit/kvcache/lane_table_recipe.h"
#include "unit/kvcache/stage_fixture.h"

namespace satchel::kvcache {
namespace {

constexpr std::size_t kText = 300, kDim = 32;

std::string recipe(const std::string& trigger, const std::string& params = "") {
  return lane_table_recipe(trigger, R"({ "use": "key_worth")" + params + " }");
}

CacheDriver driver_of(const std::string& recipe) {
  return CacheDriver({.recipe = recipe, .n_layers = 2, .n_heads = 4, .head_dim = kDim});
}

// Every lane half, and worth something else in every lane.
std::shared_ptr<HeadBudgets> table() {
  auto known = std::make_shared<HeadBudgets>();
  known->rows = {{.keep = 0.5, .shares = {0.5, 0.5, 0.5, 0.5}}};
  known->importance = KeyImportance{.agreement = 1, .lanes = {}};
  for (std::size_t lane = 0; lane < 4; ++lane) {
    std::vector<float>& weights = known->importance->lanes.emplace_back(1 + 2 * kDim);
    for (std::size_t i = 0; i < weights.size(); ++i)
      weights[i] = 0.1f * static_cast<float>((i * 7 + lane * 3) % 11) - 0.5f;
  }
  return known;
}

// The logarithm, from the numbers that the driver gives as keys before RoPE.
double importance_of(CacheDriver& driver, const HeadBudgets& known, std::size_t lane,
                     std::size_t t) {
  const std::vector<float> keys = driver.k(lane / 2, t);
  const std::vector<float>& weights = known.importance->lanes[lane];
  double sum = weights[0];
  for (std::size_t c = 0; c < kDim; ++c) {
    const double x = keys[lane % 2 * kDim + c];
    sum += weights[1 + c] * x + weights[1 + kDim + c] * x * x;
  }
  return sum;
}

TEST(KeyImportanceScorer, gives_each_key_the_exp_of_its_worth_whatever_the_chunks) {
  const auto known = table();
  for (const std::size_t chunk : {kText, std::size_t{77}, std::size_t{1}}) {
    CacheDriver driver = driver_of(recipe(kWaits));
    driver.cache().set_head_budgets(known);
    EXPECT_TRUE(driver.cache().needs_pre_rope());
    ASSERT_TRUE(driver.read(kText, {.chunk = chunk}).ok());
    for (std::size_t lane = 0; lane < driver.n_lanes(); ++lane) {
      const auto scores = driver.cache().inspector().pending_scores(lane);
      ASSERT_TRUE(scores.ok());
      ASSERT_EQ(scores->size(), kText);
      for (std::size_t t = 0; t < kText; ++t)
        ASSERT_NEAR(std::log(double{(*scores)[t]}), importance_of(driver, *known, lane, t), 1e-4)
            << lane << ", " << t;
    }
  }
}

TEST(KeyImportanceScorer, keeps_the_keys_that_are_worth_most_beside_both_ends) {
  const auto known = table();
  CacheDriver driver = driver_of(recipe(kDecides));
  driver.cache().set_head_budgets(known);
  ASSERT_TRUE(driver.read(kText).ok());
  const auto kept = driver.all_kept();
  for (std::size_t lane = 0; lane < kept.size(); ++lane) {
    const std::set<std::int32_t> expected = best_half_beside_ends(
        kText, [&](std::size_t t) { return importance_of(driver, *known, lane, t); });
    EXPECT_EQ(std::set(kept[lane].begin(), kept[lane].end()), expected) << lane;
  }
}

TEST(KeyImportanceScorer, scores_by_echo_until_keys_are_known) {
  CacheDriver keys = driver_of(recipe(kWaits));
  std::string by_echo = recipe(kWaits);
  by_echo.replace(by_echo.find("key_worth"), 9, "echo");
  CacheDriver echo = driver_of(by_echo);
  for (CacheDriver* driver : {&keys, &echo}) ASSERT_TRUE(driver->read(kText).ok());
  EXPECT_FALSE(keys.cache().needs_pre_rope());
  EXPECT_TRUE(keys.cache().needs_head_budgets());
  for (std::size_t lane = 0; lane < keys.n_lanes(); ++lane)
    EXPECT_EQ(*keys.cache().inspector().pending_scores(lane),
              *echo.cache().inspector().pending_scores(lane));
}

// Two lanes keep 80 % and two 20 %: the first by echo, the others by their keys.
TEST(KeyImportanceScorer, scores_lanes_that_keep_much_by_echo_where_that_is_wanted) {
  auto known = table();
  known->rows[0].shares = {0.8, 0.2, 0.2, 0.8};
  const auto kept_by = [&](const std::string& params, std::size_t chunk) {
    CacheDriver driver = driver_of(recipe(kDecides, params));
    driver.cache().set_head_budgets(known);
    EXPECT_TRUE(driver.read(kText, {.chunk = chunk}).ok());
    return driver.all_kept();
  };
  const auto by_keys = kept_by("", 77), by_echo = kept_by(R"(, "echo_from": 0)", 77);
  for (const auto& [params, chunk] : std::initializer_list<std::pair<const char*, std::size_t>>{
           {R"(, "echo_from": 0.5)", kText},
           {R"(, "echo_from": 0.5)", 77},
           {R"(, "echo_from": 0.5)", 13},
           {R"(, "echo_from": 0.9, "echo_above": 1)", 77}}) {
    const auto both = kept_by(params, chunk);
    for (const std::size_t lane : {0u, 3u}) {
      EXPECT_EQ(both[lane], by_echo[lane]) << lane;
      EXPECT_NE(both[lane], by_keys[lane]) << lane;
    }
    for (const std::size_t lane : {1u, 2u}) {
      EXPECT_EQ(both[lane], by_keys[lane]) << lane;
      EXPECT_NE(both[lane], by_echo[lane]) << lane;
    }
  }
}

// What its lanes will keep is known before, so text that waits is scored alike.
TEST(KeyImportanceScorer, scores_lanes_of_text_that_waits_as_if_it_were_decided_at_once) {
  auto known = table();
  known->rows[0].shares = {0.8, 0.2, 0.2, 0.8};
  const auto kept_by = [&](const std::string& trigger, const std::string& params) {
    CacheDriver driver = driver_of(recipe(trigger, params));
    driver.cache().set_head_budgets(known);
    EXPECT_TRUE(driver.read(kText).ok());
    EXPECT_TRUE(driver.cache().compactor().compact(TriggerEvent::asked).ok());
    return driver.all_kept();
  };
  const auto by_keys = kept_by(kWaits, ""), both = kept_by(kWaits, R"(, "echo_from": 0.5)");
  EXPECT_NE(both, by_keys);
  EXPECT_EQ(both, kept_by(kDecides, R"(, "echo_from": 0.5)"));
}

// Largest difference of what was given to the cache and the waiting keys of a layer's second head,
// rotated by their positions.
double keys_error(CacheDriver& driver, std::size_t layer) {
  const LayerShape& shape = driver.shape().layers[layer];
  const auto keys = driver.cache().inspector().pending_keys(driver.shape().lane(layer, 1));
  EXPECT_TRUE(keys.ok());
  const bool adjacent = shape.rope_pairs == kernels::RopePairs::adjacent;
  const std::size_t d = shape.head_dim, n_pairs = shape.inverse_frequency.size();
  double largest = 0;
  for (std::size_t t = 0; t < kText; ++t) {
    const std::vector<float> given = driver.k(layer, t);
    const float *now = keys->data() + t * d, *then = given.data() + d;
    for (std::size_t i = 0; i < n_pairs; ++i) {
      const std::size_t a = adjacent ? 2 * i : i, b = adjacent ? 2 * i + 1 : i + n_pairs;
      const auto rotated = std::complex<double>(now[a], now[b]) *
                           std::polar(1.0, static_cast<double>(t) * shape.inverse_frequency[i]);
      largest = std::max(largest, std::abs(rotated - std::complex<double>(then[a], then[b])));
    }
    for (std::size_t i = 2 * n_pairs; i < d; ++i)
      largest = std::max(largest, std::abs(double{now[i]} - double{then[i]}));
  }
  return largest;
}

TEST(WaitingKeys, are_the_texts_before_rope_in_sinks_pages_and_tail) {
  CacheDriver driver = driver_of(recipe(kWaits));
  ASSERT_TRUE(driver.read(kText).ok());
  for (const std::size_t layer : {0u, 1u}) EXPECT_LT(keys_error(driver, layer), 0.005);
}

TEST(WaitingKeys, are_rotated_back_in_halves_in_part_behind_a_window_and_as_they_are_held) {
  const LayerShape windowed{.n_heads = 2,
                            .n_kv_heads = 2,
                            .head_dim = kDim,
                            .attention_scale = 0.1f,
                            .window = 64,
                            .inverse_frequency = test::rope_frequencies(kDim)};
  LayerShape layer = windowed;
  layer.window = 0;
  layer.rope_pairs = kernels::RopePairs::halves;
  layer.inverse_frequency = test::rope_frequencies(kDim / 2);  // of half of the values
  for (const std::uint8_t finest : {kTierExact, kTierEight}) {
    std::string packs = recipe(kWaits);
    packs.replace(packs.find("\"k\": \"exact\", \"v\": \"exact\""), 26,
                  R"("k": "minikv2", "v": "minikv2")");
    CacheDriver driver({.recipe = packs, .layers = {windowed, layer}});
    ASSERT_TRUE(driver.read(kText, {.finest = finest}).ok());
    EXPECT_LT(keys_error(driver, 1), finest == kTierExact ? 0.005 : 0.05) << int{finest};
  }
}

TEST(WaitingKeys, of_text_that_was_decided_or_is_not_whole_are_an_error) {
  CacheDriver driver = driver_of(recipe(kWaits));
  EXPECT_EQ(driver.cache().inspector().pending_keys(0).error().code, "CACHE_SCORES");
  ASSERT_TRUE(driver.read(kText).ok());
  ASSERT_TRUE(driver.cache().edit().forget(100, 3).ok());
  EXPECT_EQ(driver.cache().inspector().pending_keys(0).error().code, "CACHE_SCORES");
  ASSERT_TRUE(driver.cache().compactor().compact(TriggerEvent::asked).ok());
  EXPECT_EQ(driver.cache().inspector().pending_keys(0).error().code, "CACHE_SCORES");
}

}  // namespace
}  // namespace satchel::kvcache
