// The refit: by hand, as NumPy fits in float64, and where there is little to fit from.
#include <gmock/gmock.h>

#include <cmath>
#include <limits>

#include "unit/kvcache/cache_driver.h"
#include "unit/kvcache/merged_lane.h"

namespace satchel::kvcache {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr float kNothing = -std::numeric_limits<float>::infinity();

// Each query asks at the lane's end and sees nothing else.
void ask(MergedLane& lane, const std::vector<std::vector<float>>& queries, float lse = kNothing) {
  for (const std::vector<float>& q : queries) {
    for (std::size_t c = 0; c < lane.head_dim; ++c) lane.queries.push_back(c < q.size() ? q[c] : 0);
    lane.lse.push_back(lse);
    lane.query_positions.push_back(static_cast<std::int32_t>(lane.query_positions.size()));
  }
}

// Two tokens with one key, the second goes.
MergedLane twins() {
  MergedLane lane;
  lane.add({.k = {1, 2}, .v = {4, 0}});
  lane.add({.k = {1, 2}, .v = {0, 8}, .kept = false});
  ask(lane, {{1}, {0, 1}, {-1, 3}, {2, 2}, {0.5, -1}});
  return lane;
}

TEST(Refit, of_two_twins_the_one_that_stays_counts_twice_and_has_the_mean_value) {
  MergedLane lane = twins();
  lane.merge("refit", R"({"ridge": 0.0001})");
  EXPECT_NEAR(lane.counts[0], 2, 1e-3);
  EXPECT_NEAR(lane.value(0, 0), 2, 1e-2);
  EXPECT_NEAR(lane.value(0, 1), 4, 1e-2);
}

// All shares are 1/2, so B = (N/2 + λ) / (N/4 + λ) with λ = 0.1 N/4; then all attention is the one
// token's, λ = 0.1 N, and its value moves by (mean - v) / 1.1.
TEST(Refit, the_ridge_draws_to_weight_1_and_the_old_values) {
  MergedLane lane = twins();
  lane.merge("refit");
  EXPECT_NEAR(lane.counts[0], 0.525 / 0.275, 1e-4);
  EXPECT_NEAR(lane.value(0, 0), 4 - 2 / 1.1, 2e-3);
  EXPECT_NEAR(lane.value(0, 1), 4 / 1.1, 2e-3);
}

// Of 18 queries every ninth is held out.
TEST(Refit, of_few_queries_few_are_held_out) {
  MergedLane lane = twins();
  for (int i = 0; i < 13; ++i) ask(lane, {{0.1f * static_cast<float>(i), 1}});
  lane.merge("refit", R"({"queries": 16})");
  EXPECT_GT(lane.counts[0], 1.8f);
}

TEST(Refit, weights_stay_within_the_bound) {
  MergedLane lane;
  lane.add({.k = {1}, .v = {1}});
  for (int i = 0; i < 100; ++i) lane.add({.k = {1}, .v = {1}, .kept = false});
  ask(lane, {{1}, {2}, {3}});
  lane.merge("refit", R"({"bound": 1, "ridge": 0.001})");
  EXPECT_FLOAT_EQ(lane.counts[0], std::exp(1.0f));
}

TEST(Refit, nothing_changes_where_nothing_goes_or_nobody_asks) {
  for (const bool goes : {false, true}) {
    MergedLane lane;
    lane.add({.k = {1, 2}, .v = {4, 0}});
    lane.add({.k = {2, 1}, .v = {0, 8}, .kept = !goes});
    if (!goes) ask(lane, {{1}, {2}});
    const auto v = lane.v;
    lane.merge("refit");
    EXPECT_EQ(lane.v, v);
    EXPECT_THAT(lane.counts, Each(1));
    EXPECT_EQ(lane.fits.n_made + lane.fits.n_dropped, 0u);
  }
}

TEST(Refit, a_key_that_nobody_looks_at_stays_as_it_was) {
  MergedLane lane;
  lane.add({.k = {1, 2}, .v = {4, 0}});
  lane.add({.k = {0, 0, -1000}, .v = {7, 7}});
  lane.add({.k = {1, 2}, .v = {0, 8}, .kept = false});
  ask(lane, {{1, 0, 1}, {0, 1, 1}, {0, 0, 1}});
  lane.merge("refit");
  EXPECT_FLOAT_EQ(lane.counts[1], 1);
  EXPECT_THAT(lane.value_pair(1), ElementsAre(7, 7));
  EXPECT_GT(lane.counts[0], 1.5f);
}

// A query that has its own past to look at counts as much as it would look at the lane.
TEST(Refit, a_query_whose_own_past_holds_everything_has_no_say) {
  MergedLane lane = twins(), alone = twins();
  ask(lane, {{50, -50}, {9, 9}}, 300);
  alone.merge("refit");
  lane.merge("refit");
  EXPECT_EQ(lane.counts, alone.counts);
  EXPECT_EQ(lane.v, alone.v);
}

TEST(Refit, sinks_count_once_and_the_tail_has_no_part) {
  MergedLane lane;
  lane.n_sinks = lane.n_tail = 1;
  lane.add({.k = {1, 2}, .v = {4, 0}, .is_protected = true});
  lane.add({.k = {1, 2}, .v = {0, 8}, .kept = false});
  lane.add({.k = {2, 2}, .v = {3, 3}, .is_protected = true});
  ask(lane, {{1}, {0, 1}, {-1, 3}});
  lane.merge("refit");
  EXPECT_THAT(lane.counts, Each(1));
  EXPECT_THAT(lane.value_pair(2), ElementsAre(3, 3));
  EXPECT_LT(lane.value(0, 0), 3);  // its value moves all the same
}

TEST(Refit, what_is_not_a_number_changes_nothing) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), -kNothing}) {
    MergedLane lane = twins();
    ask(lane, {{bad, bad}});
    const auto v = lane.v;
    lane.merge("refit");
    EXPECT_EQ(lane.v, v);
    EXPECT_THAT(lane.counts, Each(1));
    EXPECT_EQ(lane.fits.n_made + lane.fits.n_dropped, 1u);
  }
}

TEST(Refit, is_what_numpy_fits_in_float64) {
  std::ifstream in(test::source_dir() + "/tests/golden/selection/refit.txt");
  std::size_t n_lanes = 0;
  for (std::string word, params; in >> word; ++n_lanes) {
    ASSERT_EQ(word, "lane");
    SCOPED_TRACE("lane " + std::to_string(n_lanes));
    MergedLane lane;
    std::size_t n = 0, n_q = 0;
    in >> n >> lane.head_dim >> n_q >> lane.n_sinks >> lane.n_tail >> lane.layer.soft_cap;
    std::getline(in, params);
    const std::vector<std::size_t> kept = read_tokens(in);
    lane.layer.attention_scale = 1 / std::sqrt(static_cast<float>(lane.head_dim));
    lane.k = halves(read_rows(in, n, lane.head_dim));
    lane.v = halves(read_rows(in, n, lane.head_dim));
    for (const auto& q : read_rows(in, n_q, lane.head_dim))
      lane.queries.insert(lane.queries.end(), q.begin(), q.end());
    lane.lse = read_row(in, n_q);
    lane.query_positions.assign(n_q, 0);
    lane.scores.assign(n, 1);
    lane.tiers.assign(n, kGone);
    for (const std::size_t t : kept) lane.tiers[t] = 0;
    lane.merge("refit", params);
    const std::vector<float> counts = read_row(in, kept.size());
    for (std::size_t i = 0; i < kept.size(); ++i) {
      EXPECT_NEAR(lane.counts[kept[i]], counts[i], 2e-3 * counts[i]) << kept[i];
      const std::vector<float> v = read_row(in, lane.head_dim);
      for (std::size_t c = 0; c < v.size(); ++c)
        EXPECT_NEAR(lane.value(kept[i], c), v[c], 4e-3) << kept[i] << " " << c;
    }
  }
  EXPECT_EQ(n_lanes, 6u);
}

std::size_t n_weighted(CacheDriver& driver) {
  std::size_t n = 0;
  for (std::size_t layer = 0; layer < 2; ++layer)
    for (std::size_t head = 0; head < 2; ++head)
      for (const auto& [position, token] : driver.decode(layer, head)) n += token.log_count != 0;
  return n;
}

// Weights were fitted to all that stayed: of a part of it they are worse than none. A branch that
// shares the pages keeps its own.
TEST(Refit, in_a_cache_holds_until_more_of_the_text_goes) {
  CacheDriver driver({.recipe = R"({ "recipe": 1, "name": "refits", "source": "a test",
        "differs": "in nothing", "keep": 0.5,
        "trigger": { "use": "end_of_prompt", "min_tokens": 64 }, "scorer": { "use": "key_worth" },
        "filter": [ { "use": "protect", "sinks": 4, "tail": 128 } ],
        "allocator": { "use": "lane_table" }, "assigner": { "use": "top_k" },
        "merger": { "use": "refit", "queries": 64 }, "codec": { "k": "exact", "v": "exact" },
        "reader": { "use": "all" }, "room": [ { "share": 0.5 } ] })",
                      .varies = "kvzap",
                      .n_layers = 2,
                      .n_heads = 4,
                      .head_dim = 32});
  driver.check_attention = false;
  ASSERT_TRUE(driver.read(1000).ok());
  const std::size_t n_kept = driver.cache().stats().n_kept;
  const std::size_t n_before = n_weighted(driver);
  EXPECT_GT(n_before, n_kept / 4);
  const std::size_t n_fits = driver.cache().stats().n_fits;
  EXPECT_GT(n_fits, 0u);
  EXPECT_LE(n_fits + driver.cache().stats().n_fits_dropped, 4u);  // of lanes that have a choice
  Result<CacheDriver> branch = driver.fork();
  ASSERT_TRUE(branch.ok());
  ASSERT_TRUE(driver.cache().compactor().shrink_to(0).ok());
  EXPECT_LT(driver.cache().stats().n_kept, n_kept);
  EXPECT_EQ(n_weighted(driver), 0u);
  EXPECT_EQ(n_weighted(*branch), n_before);
}

}  // namespace
}  // namespace satchel::kvcache
