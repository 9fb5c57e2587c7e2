// Golden cases of mergers, worked out by hand from the papers' formulas, and what caches of their
// recipes hold.
#include <gmock/gmock.h>

#include <map>

#include "kernels/base/rng.h"
#include "unit/kvcache/cache_driver.h"
#include "unit/kvcache/merged_lane.h"

namespace satchel::kvcache {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

// --- spread_values -------------------------------------------------------------------------------

constexpr const char* kTwoAsTheyAre = "{\"carriers\": 2, \"per_query\": false}";

// Cm1: CaM (ICML 2024). The dropped token is looked at as much as the newest.
TEST(SpreadValues, a_value_goes_in_equal_parts_to_the_tokens_that_follow) {
  MergedLane lane;
  lane.add({.k = {1, 0}, .v = {1, 1}, .score = 9});
  lane.add({.k = {2, 0}, .v = {32, 0}, .score = 5, .kept = false});
  lane.add({.k = {3, 0}, .v = {0, 0}, .score = 5});
  lane.add({.k = {4, 0}, .v = {0, 2}, .score = 5, .is_protected = true});
  lane.add({.k = {5, 0}, .v = {0, 0}, .score = 5, .is_protected = true});
  const auto k = lane.k;
  lane.merge("spread_values", kTwoAsTheyAre);
  EXPECT_THAT(lane.value_pair(0), ElementsAre(1, 1));
  EXPECT_THAT(lane.value_pair(2), ElementsAre(16, 0));
  EXPECT_THAT(lane.value_pair(3), ElementsAre(16, 2));
  EXPECT_THAT(lane.value_pair(4), ElementsAre(0, 0));
  EXPECT_EQ(lane.k, k) << "keys go";
  EXPECT_THAT(lane.counts, Each(1));
}

// Cm2.
TEST(SpreadValues, nothing_of_a_token_that_nobody_looked_at) {
  MergedLane lane;
  lane.add({.v = {32, 0}, .score = 0, .kept = false});
  lane.add({.v = {1, 0}, .score = 1});
  const auto v = lane.v;
  lane.merge("spread_values", kTwoAsTheyAre);
  EXPECT_EQ(lane.v, v);
}

// Newest: the two behind the last dropped token, mean 4; a quarter of the one before.
TEST(SpreadValues, as_much_of_it_as_it_is_looked_at_beside_the_newest) {
  MergedLane lane;
  lane.add({.v = {32, 0}, .score = 1, .kept = false});
  lane.add({.v = {0, 0}, .score = 100});
  lane.add(
      {.v = {0, 32}, .score = 8, .kept = false});  // twice as much as the newest: all, not more
  lane.add({.v = {0, 0}, .score = 3, .is_protected = true});
  lane.add({.v = {0, 0}, .score = 5, .is_protected = true});
  lane.merge("spread_values", kTwoAsTheyAre);
  EXPECT_THAT(lane.value_pair(1), ElementsAre(4, 0));
  EXPECT_THAT(lane.value_pair(3), ElementsAre(4, 16));
  EXPECT_THAT(lane.value_pair(4), ElementsAre(0, 16));
}

// Token 0 was seen by 4 queries, the newest by 2 and 1: means of 1, and of 2 and 6.
TEST(SpreadValues, sums_over_queries_count_as_means_of_those_that_saw_the_token) {
  MergedLane lane;
  lane.add({.v = {32, 0}, .score = 4, .kept = false});
  lane.add({.v = {32, 0}, .score = 0, .kept = false});
  lane.add({.v = {0, 0}, .score = 4});
  lane.add({.v = {0, 0}, .score = 6});
  lane.merge("spread_values", "{\"carriers\": 2}");
  EXPECT_THAT(lane.value_pair(2), ElementsAre(4, 0));
  EXPECT_THAT(lane.value_pair(3), ElementsAre(4, 0));
}

// Cm3: the mean of drawn ones, each of which gives the whole value or nothing.
TEST(SpreadValues, is_the_mean_of_the_papers_draws) {
  MergedLane lane;
  lane.add({.v = {32, 0}, .score = 3, .kept = false});
  lane.add({.v = {2, 0}, .score = 10});
  lane.add({.v = {1, 0}, .score = 10});
  lane.merge("spread_values", kTwoAsTheyAre);
  Rng rng(1);
  double sum = 0;
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) sum += 2 + (rng.uniform() < 0.3 ? 32.0 / 2 : 0);
  EXPECT_NEAR(double{lane.value(1)}, sum / kDraws, 0.01 * sum / kDraws);
}

TEST(SpreadValues, stays_finite_where_much_comes_together) {
  MergedLane lane;
  for (int i = 0; i < 8; ++i) lane.add({.v = {60000, -60000}, .kept = false});
  lane.add({.v = {60000, -60000}});
  lane.merge("spread_values", "{\"carriers\": 1, \"per_query\": false}");
  EXPECT_THAT(lane.value_pair(8), ElementsAre(65504, -65504));
}

// By plain loops from the attention that the text's tokens received.
TEST(SpreadValues, in_a_cache_changes_values_alone) {
  CacheDriver driver({.recipe = "cam", .n_layers = 2, .n_heads = 4, .head_dim = 32});
  constexpr std::size_t kText = 500, kLayer = 1, kCarriers = 32;
  ASSERT_TRUE(driver.read(kText).ok());
  const DecodedLane held = driver.decode(kLayer, 0);
  EXPECT_EQ(held.size(), kText / 5);
  const auto looked_at = [&](std::size_t t) {
    return driver.scores[kLayer][0][t] / double(kText - t);
  };
  double recent = 0;
  std::size_t n_recent = 0;
  while (held.contains(static_cast<std::int32_t>(kText - 1 - n_recent)))
    recent += looked_at(kText - 1 - n_recent++);
  std::map<std::int32_t, double> first_values;
  for (const auto& [position, token] : held)
    first_values[position] = double{driver.v(kLayer, static_cast<std::size_t>(position))[0]};
  for (std::size_t t = 0; t < kText; ++t) {
    if (held.contains(static_cast<std::int32_t>(t))) continue;
    const double part = std::min(looked_at(t) / (recent / double(n_recent)), 1.0);
    auto carrier = first_values.upper_bound(static_cast<std::int32_t>(t));
    for (std::size_t i = 0; i < kCarriers && carrier != first_values.end(); ++i, ++carrier)
      carrier->second += part * double{driver.v(kLayer, t)[0]} / kCarriers;
  }
  for (const auto& [position, token] : held) {
    EXPECT_NEAR(token.v[0], first_values[position], 2e-3) << position;
    const auto k = driver.k(kLayer, static_cast<std::size_t>(position));
    for (std::size_t i = 0; i < 32; ++i) ASSERT_NEAR(token.k[i], k[i], 1e-3) << position;
  }
}

// --- nearest_kept --------------------------------------------------------------------------------

// Lk2: arXiv:2406.18139.
TEST(NearestKept, look_m_keeps_at_least_half_of_the_carrier) {
  MergedLane lane;
  lane.add({.k = {2, 0}, .v = {4, 0}});
  lane.add({.k = {0, 2}, .v = {0, 8}, .kept = false});
  lane.merge("nearest_kept", "{\"all\": true, \"pivotal\": true}");
  EXPECT_THAT(lane.key_pair(0), ElementsAre(1.5f, 0.5f));
  EXPECT_THAT(lane.value_pair(0), ElementsAre(3, 2));
  EXPECT_THAT(lane.counts, ElementsAre(2, 1));
}

// mean((2, 0), (2, 2), (0, 2)): two given halves, each with a half of the carrier's own.
TEST(NearestKept, look_m_of_two_that_merge_into_one) {
  MergedLane lane;
  lane.add({.k = {2, 0}, .v = {1, 0}});
  lane.add({.k = {2, 4}, .v = {1, 3}, .kept = false});
  lane.add({.k = {-2, 4}, .v = {1, 3}, .kept = false});
  lane.merge("nearest_kept", "{\"all\": true, \"pivotal\": true}");
  EXPECT_THAT(lane.key_pair(0), Pointwise(FloatNear(1e-3f), {4.0f / 3, 4.0f / 3}));
  EXPECT_THAT(lane.value_pair(0), ElementsAre(1, 1));
}

// The second points away from every kept token.
TEST(NearestKept, all_of_them_merge_only_where_the_recipe_says_so) {
  for (const bool all : {false, true}) {
    MergedLane lane;
    lane.add({.k = {1, 0}, .v = {1, 0}});
    lane.add({.k = {1, 0}, .v = {1, 0}, .kept = false});
    lane.add({.k = {-1, 0}, .v = {1, 0}, .kept = false});
    lane.merge("nearest_kept", all ? "{\"all\": true}" : "{}");
    EXPECT_THAT(lane.counts, ElementsAre(all ? 3 : 2, 1, 1));
  }
}

// --- nearest_position, and one set a layer -------------------------------------------------------

// El1: arXiv:2407.18121. Scores (9, 1, 8, 2) keep 0 and 2; 1 is as near to both.
TEST(NearestPosition, elastic_cache_averages_into_the_nearest_place_ties_to_the_lower) {
  EXPECT_THAT(kept(std::vector<float>{9, 1, 8, 2}, 2), ElementsAre(0, 2));
  MergedLane lane;
  lane.add({.k = {1, 0}, .v = {10, 0}});
  lane.add({.k = {3, 2}, .v = {20, 0}, .kept = false});
  lane.add({.k = {0, 4}, .v = {30, 0}});
  lane.add({.k = {0, 6}, .v = {40, 2}, .kept = false});
  lane.merge("nearest_position");
  EXPECT_THAT(lane.key_pair(0), ElementsAre(2, 1));
  EXPECT_THAT(lane.value_pair(0), ElementsAre(15, 0));
  EXPECT_THAT(lane.key_pair(2), ElementsAre(0, 5));
  EXPECT_THAT(lane.value_pair(2), ElementsAre(35, 1));
  EXPECT_THAT(lane.counts, ElementsAre(2, 1, 2, 1));
}

// One before all that are kept, one behind, one that is not there.
TEST(NearestPosition, the_ends_of_a_text_have_one_neighbour) {
  MergedLane lane;
  lane.add({.k = {2, 0}, .kept = false});
  lane.add({.k = {90, 0}, .score = kNotThere, .kept = false});
  lane.add({.k = {5, 0}});
  lane.add({.k = {8, 0}, .kept = false});
  lane.merge("nearest_position");
  EXPECT_THAT(lane.key_pair(2), ElementsAre(5, 0));
  EXPECT_THAT(lane.counts, ElementsAre(1, 1, 3, 1));
}

TEST(NearestPosition, elastic_cache_keeps_one_set_in_all_lanes_of_a_layer) {
  CacheDriver driver({.recipe = "elastic-cache", .n_layers = 2, .n_heads = 4, .head_dim = 32});
  ASSERT_TRUE(driver.read(500).ok());
  const auto kept = driver.all_kept();
  EXPECT_THAT(kept, Each(testing::SizeIs(250)));
  EXPECT_EQ(kept[0], kept[1]);
  EXPECT_EQ(kept[2], kept[3]);
  EXPECT_NE(kept[0], kept[2]);
}

TEST(NearestPosition, a_layer_shares_the_mean_of_its_column_sums) {
  const auto scorer = make<Scorer>(StageKind::scorer, "attention_sum", "{\"layer_shared\": true}");
  std::vector<float> a = {0.5f, 0.25f}, b = {0, 0.75f};
  const std::vector<ScoredLane> lanes = {{.scores = a}, {.scores = b}};
  const auto backend = test::open_reference();
  ASSERT_TRUE(scorer->finish(*backend, {}, {}, lanes).ok());
  EXPECT_THAT(a, ElementsAre(0.25f, 0.5f));
  EXPECT_THAT(b, ElementsAre(0.25f, 0.5f));
}

}  // namespace
}  // namespace satchel::kvcache
