// EMS (arXiv:2412.08521) and KVMerger (arXiv:2407.08454): what scores their choice starts from, and
// what merging leaves in K and V. Em and Km: the golden cases of the project's method notes; lanes
// of made-up numbers by tests/oracle/make_merge_fixtures.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <sstream>

#include "kernels/base/rng.h"
#include "kvcache/recipes/pipeline.h"
#include "unit/kvcache/cache_driver.h"
#include "unit/kvcache/merged_lane.h"
#include "unit/kvcache/read_text.h"

namespace satchel::kvcache {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

testing::Matcher<std::vector<float>> near(float tolerance, const std::vector<float>& scores) {
  return Pointwise(FloatNear(tolerance), scores);
}

constexpr double kGoldenRows[5][5] = {{1.00, 0, 0, 0, 0},
                                      {0.50, 0.50, 0, 0, 0},
                                      {0.50, 0.10, 0.40, 0, 0},
                                      {0.40, 0.05, 0.35, 0.20, 0},
                                      {0.30, 0.05, 0.25, 0.10, 0.30}};

KnownMap five_tokens() {
  std::vector<KnownMap::Row> rows;
  for (const auto& row : kGoldenRows) rows.emplace_back(std::begin(row), std::end(row));
  return KnownMap::square(rows);
}

std::vector<float> global_local(const KnownMap& map, const std::string& params, std::size_t chunk) {
  const auto backend = test::open_reference();
  return map.scores(*make<Scorer>(StageKind::scorer, "global_local", params), *backend,
                    Purpose::prefill, chunk);
}

// The last two say .7 .1 .6 .3 .3, sum 2; all 2.7 .7 1 .3 .3, sum 5, two fifths of which are
// 1.08 .28 .4 .12 .12.
TEST(Ems, global_local_is_the_larger_of_both_once_their_sums_are_alike) {
  for (const std::size_t chunk : {1u, 2u, 3u, 5u})
    EXPECT_THAT(global_local(five_tokens(), R"({ "window": 2 })", chunk),
                near(1e-5f, {1.08f, 0.28f, 0.6f, 0.3f, 0.3f}))
        << chunk;
}

// Em2: what the last query looks at is half of what all do.
TEST(Ems, global_local_of_scores_that_agree_is_either_of_them) {
  const KnownMap map =
      KnownMap::square({{0, 0, 0, 0}, {0.2, 0.1, 0, 0}, {0.4, 0.2, 0, 0}, {0.6, 0.3, 0, 0}});
  for (const std::size_t chunk : {1u, 4u})
    EXPECT_THAT(global_local(map, R"({ "window": 1 })", chunk), near(1e-5f, {0.6f, 0.3f, 0, 0}));
}

ReadText::Matrix random_rows(std::size_t n, Rng& rng) {
  ReadText::Matrix rows(n, std::vector<float>(8));
  for (auto& row : rows)
    for (float& x : row) x = static_cast<float>(rng.next() % 200) / 100 - 1;
  return rows;
}

// Each lane's second vector is its own: two lanes together score as each does alone.
TEST(Ems, global_local_keeps_the_lanes_of_a_layer_apart) {
  Rng rng(3);
  const auto scorer = make<Scorer>(StageKind::scorer, "global_local", R"({ "window": 3 })");
  std::array<ReadText, 2> alone;
  for (ReadText& lane : alone) lane.keys = random_rows(9, rng), lane.queries = random_rows(9, rng);
  SeenLayer both{.layer = alone[0].layer(),
                 .n_tokens = 9,
                 .k = {{}, {}},
                 .q = {},
                 .lse = std::vector<float>(18),
                 .scores = {std::vector<float>(9), std::vector<float>(9)}};
  both.layer.n_heads = both.layer.n_kv_heads = 2;
  for (std::size_t t = 0; t < 9; ++t)
    for (std::size_t i = 0; i < 2; ++i) {
      for (const float x : alone[i].keys[t]) both.k[i].push_back(float_to_half(x));
      both.q.insert(both.q.end(), alone[i].queries[t].begin(), alone[i].queries[t].end());
    }
  both.observe(*scorer);
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_THAT(both.scores[i], Pointwise(FloatNear(1e-4f), alone[i].scores(*scorer, 9))) << i;
}

// Unit keys of eight channels, each at a chosen cosine to the one before it.
ReadText::Matrix keys_with_cosines(const std::vector<double>& cosines) {
  ReadText::Matrix keys = {{1, 0, 0, 0, 0, 0, 0, 0}};
  double angle = 0;
  for (const double cosine : cosines) {
    angle += std::acos(cosine);
    keys.push_back({static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle)), 0, 0,
                    0, 0, 0, 0});
  }
  return keys;
}

// Km3. Queries of zeros look at all alike, so that column sums are 4 3 2 1: the earlier one is the
// head.
TEST(KvMerger, sets_join_from_the_most_alike_neighbours_on) {
  const ReadText text{.keys = keys_with_cosines({0.9, 0.5, 0.8})};
  for (const std::size_t chunk : {1u, 3u, 4u}) {
    const std::vector<float> scores = text.scores("merge_sets", "{}", chunk);
    EXPECT_THAT(scores, near(1e-3f, {5, 0.05f, 0.25f, 0.1f}));
    EXPECT_EQ(kept(scores, 3), (std::vector<std::size_t>{0, 2, 3}));  // {0 1}
    EXPECT_EQ(kept(scores, 2), (std::vector<std::size_t>{0, 2}));     // {0 1} {2 3}
    EXPECT_EQ(kept(scores, 1), (std::vector<std::size_t>{0}));
  }
}

TEST(KvMerger, sets_are_no_longer_than_said_and_are_cut_at_the_weakest_link) {
  const ReadText text{.keys = keys_with_cosines({0.9, 0.5, 0.8})};
  const std::vector<float> two = text.scores("merge_sets", R"({ "set": 2 })");
  EXPECT_THAT(two, near(1e-3f, {5, 0.05f, 3, 0.1f}));
  const std::vector<float> three = text.scores("merge_sets", R"({ "set": 3 })");
  EXPECT_EQ(three, two);  // all four together are too many, and no link is left
  const std::vector<float> one = text.scores("merge_sets", R"({ "set": 1 })");
  EXPECT_THAT(one, near(1e-4f, {5, 4, 3, 2}));
}

// Of a budget of two one is heavy: the first, which then joins nobody.
TEST(KvMerger, heavy_tokens_stand_alone) {
  const ReadText text{.keys = keys_with_cosines({0.9, 0.5, 0.8}), .keep = 0.5};
  EXPECT_THAT(text.scores("merge_sets", R"({ "heavy": 0.5 })"), near(1e-3f, {5, 4, 0.25f, 0.1f}));
}

MergedLane ems_lane() {
  MergedLane lane;
  lane.add({1, 0}, {10}, 3, 0);
  lane.add({0, 1}, {20}, 2, 0);
  lane.add({0.8f, 0.6f}, {50}, 1, kGone);      // .8 of the first, .6 of the second
  lane.add({0.1f, 0.99f}, {60}, 0.5f, kGone);  // of the second
  return lane;
}

TEST(Ems, candidates_go_to_the_centre_most_alike_by_their_scores) {
  MergedLane lane = ems_lane();
  lane.merge("class_centres");
  EXPECT_NEAR(lane.value(0), (3 * 10 + 50) / 4.0, 1e-2);
  EXPECT_NEAR(lane.key(0, 0), (3 + 0.8) / 4, 1e-3);
  EXPECT_NEAR(lane.key(0, 1), 0.6 / 4, 1e-3);
  EXPECT_NEAR(lane.value(1), (2 * 20 + 0.5 * 60) / 2.5, 2e-2);
  EXPECT_THAT(lane.counts, ElementsAre(2, 2, 1, 1));
}

// Em1.
TEST(Ems, a_least_cosine_above_one_is_pure_eviction) {
  MergedLane lane = ems_lane();
  const auto k = lane.k, v = lane.v;
  lane.merge("class_centres", R"({ "tau": 1.5 })");
  EXPECT_EQ(lane.k, k);
  EXPECT_EQ(lane.v, v);
  EXPECT_THAT(lane.counts, ElementsAre(1, 1, 1, 1));
}

// Em3: also where the twin stands elsewhere, in as far as keys are the same after RoPE.
TEST(Ems, a_twin_with_an_equal_value_changes_nothing) {
  MergedLane lane;
  lane.add({0.3f, -2}, {7, 1}, 0.9f, 0);
  lane.add({1, 1}, {20}, 2, 0);
  lane.add({0.3f, -2}, {7, 1}, 0.7f, kGone);
  const auto k = lane.k, v = lane.v;
  lane.merge("class_centres");
  EXPECT_EQ(lane.k, k);
  EXPECT_EQ(lane.v, v);
  EXPECT_THAT(lane.counts, ElementsAre(2, 1, 1));
}

TEST(Ems, gamma_says_how_many_may_merge_and_protected_tokens_are_no_centres) {
  MergedLane lane = ems_lane();
  lane.merge("class_centres", R"({ "gamma": 0.5 })");  // of two centres: one
  EXPECT_THAT(lane.counts, ElementsAre(2, 1, 1, 1));
  lane = ems_lane();
  lane.scores[0] = kNeverEvict;  // one centre, one candidate, whose cosine is .6
  lane.merge("class_centres", R"({ "tau": 0.55 })");
  EXPECT_THAT(lane.counts, ElementsAre(1, 2, 1, 1));
  lane = ems_lane();
  lane.scores[2] = kNotThere;
  lane.merge("class_centres");
  EXPECT_THAT(lane.counts, ElementsAre(1, 2, 1, 1));
}

// Half a turn apart the same key points the other way; before RoPE it is the same.
TEST(Ems, keys_are_compared_as_they_were_before_rope) {
  MergedLane lane;
  lane.layer.inverse_frequency = {3.14159265358979};
  lane.first_position = 5;
  lane.add({-1, 0, 0, 0}, {10}, 1, 0);
  lane.add({0, 0, 1, 0}, {20}, 1, 0);
  lane.add({0, 0, 0, 1}, {20}, 1, 0);
  lane.add({1, 0, 0, 0}, {30}, 1, kGone);
  lane.merge("class_centres");
  EXPECT_THAT(lane.counts, ElementsAre(2, 1, 1, 1));
  EXPECT_NEAR(lane.value(0), 20, 1e-2);
  EXPECT_NEAR(lane.key(0, 0), 0, 1e-3);  // they are merged as they are
}

TEST(Ems, scores_of_zero_merge_into_the_mean) {
  MergedLane lane;
  lane.add({1, 0}, {10}, 0, 0);
  lane.add({1, 0}, {40}, -2, kGone);
  lane.merge("class_centres");
  EXPECT_NEAR(lane.value(0), 25, 1e-2);
}

// Km1.
TEST(KvMerger, a_least_cosine_of_one_merges_nothing) {
  MergedLane lane;
  for (int i = 0; i < 4; ++i) lane.add({2, 1}, {static_cast<float>(i)}, 1, i == 1 ? 0 : kGone);
  const auto k = lane.k, v = lane.v;
  lane.merge("neighbours", R"({ "epsilon": 1 })");
  EXPECT_EQ(lane.k, k);
  EXPECT_EQ(lane.v, v);
  EXPECT_THAT(lane.counts, ElementsAre(1, 1, 1, 1));
}

// exp(q·k + ln count), normalised, times v: what a reader of the lane's kept tokens sees.
double attention(const MergedLane& lane, const std::vector<double>& q, bool counts) {
  double sum = 0, out = 0;
  for (std::size_t t = 0; t < lane.tiers.size(); ++t) {
    if (counts && lane.tiers[t] == kGone) continue;
    double logit = counts ? std::log(static_cast<double>(lane.counts[t])) : 0;
    for (std::size_t c = 0; c < q.size(); ++c) logit += q[c] * static_cast<double>(lane.key(t, c));
    sum += std::exp(logit);
    out += std::exp(logit) * static_cast<double>(lane.value(t));
  }
  return out / sum;
}

// Km2.
TEST(KvMerger, equal_tokens_become_one_that_weighs_as_many_and_attention_stays_exact) {
  MergedLane lane;
  for (int i = 0; i < 5; ++i) lane.add({0.7f, -1.3f}, {3}, 1, i == 2 ? 0 : kGone);
  lane.add({-0.4f, 0.2f}, {-5}, 1, 0);
  const auto k = lane.k, v = lane.v;
  const std::vector<double> q = {1.1, 0.6};
  const double before = attention(lane, q, false);
  lane.merge("neighbours");
  EXPECT_EQ(lane.k, k);
  EXPECT_EQ(lane.v, v);
  EXPECT_THAT(lane.counts, ElementsAre(1, 1, 5, 1, 1, 1));
  EXPECT_NEAR(attention(lane, q, true), before, 1e-9);
  EXPECT_TRUE(make<Merger>(StageKind::merger, "neighbours")->needs_counts());
  EXPECT_FALSE(
      make<Merger>(StageKind::merger, "neighbours", R"({ "counts": false })")->needs_counts());
}

// Km3: {0 1} {2 3}, whichever of each stays. Of two a squared distance d apart σ² is d / 2, so that
// the other weighs exp(-1).
TEST(KvMerger, a_gap_is_parted_at_its_weakest_link) {
  const ReadText::Matrix keys = keys_with_cosines({0.9, 0.5, 0.8});
  for (const auto& stays : std::vector<std::array<std::size_t, 2>>{{0, 2}, {0, 3}, {1, 2}, {1, 3}})
    for (const char* params : {"{}", R"({ "epsilon": 0.75 })"}) {
      MergedLane lane;
      for (std::size_t t = 0; t < 4; ++t)
        lane.add(keys[t], {static_cast<float>(t)}, 1,
                 t == stays[0] || t == stays[1] ? std::uint8_t{0} : kGone);
      lane.merge("neighbours", params);
      for (const std::size_t t : stays) {
        EXPECT_EQ(lane.counts[t], 2);
        const double e = std::exp(-1), other = static_cast<double>(t ^ 1);
        EXPECT_NEAR(lane.value(t), (static_cast<double>(t) + e * other) / (1 + e), 2e-3);
        EXPECT_NEAR(lane.key(t, 0), (keys[t][0] + e * keys[t ^ 1][0]) / (1 + e), 1e-3);
      }
    }
}

TEST(KvMerger, what_epsilon_or_a_wall_parts_from_its_carrier_is_gone) {
  const ReadText::Matrix keys = keys_with_cosines({0.9, 0.5, 0.8});
  const auto lane_of = [&](std::size_t stays) {
    MergedLane lane;
    for (std::size_t t = 0; t < 4; ++t) lane.add(keys[t], {}, 1, t == stays ? 0 : kGone);
    return lane;
  };
  MergedLane lane = lane_of(0);
  lane.merge("neighbours", R"({ "epsilon": 0.75 })");
  EXPECT_THAT(lane.counts, ElementsAre(2, 1, 1, 1));
  lane = lane_of(3);
  lane.merge("neighbours", R"({ "epsilon": 0.45 })");
  EXPECT_THAT(lane.counts, ElementsAre(1, 1, 1, 4));
  lane = lane_of(3);
  lane.scores[1] = kNotThere;
  lane.merge("neighbours");
  EXPECT_THAT(lane.counts, ElementsAre(1, 1, 1, 2));
  lane = lane_of(1);
  lane.scores[1] = kNeverEvict;
  lane.merge("neighbours");
  EXPECT_THAT(lane.counts, ElementsAre(1, 1, 1, 1));
}

// The heavier of the two that stay carries nothing: all goes to the other, on whose side it is.
TEST(KvMerger, heavy_tokens_carry_nothing) {
  MergedLane lane;
  for (std::size_t t = 0; t < 5; ++t)
    lane.add({1, static_cast<float>(t)}, {}, 1, t % 4 == 0 ? 0 : kGone);
  lane.unfiltered = {9, 0, 0, 0, 2};
  lane.merge("neighbours", R"({ "heavy": 0.5 })");
  EXPECT_THAT(lane.counts, ElementsAre(1, 1, 1, 1, 4));
}

// --- made-up lanes -------------------------------------------------------------------------------

TEST(Ems, lanes_merge_as_the_formulas_in_numpy_do) {
  std::vector<FixtureLane> lanes = read_lanes("ems");
  ASSERT_EQ(lanes.size(), 2u);
  for (FixtureLane& each : lanes) {
    each.lane.scores = each.numbers;
    for (const std::size_t t : each.is_protected) each.lane.scores[t] = kNeverEvict;
    EXPECT_EQ(kept(each.lane.scores, each.kept.size()), each.kept);
    each.lane.merge("class_centres", each.params);
    expect_merged(each);
  }
}

// The scorer of a lane whose column sums stand there already: the queries add nothing.
std::vector<float> scores_of_sums(const FixtureLane& of, const std::string& params, double keep) {
  SeenLayer seen{.layer = of.lane.layer,
                 .n_tokens = of.n,
                 .first_position = of.lane.first_position,
                 .keep = keep,
                 .k = {of.lane.k},
                 .q = std::vector<float>(of.lane.k.size()),
                 .lse = std::vector<float>(of.n, 1000),
                 .scores = {of.numbers}};
  seen.observe(*make<Scorer>(StageKind::scorer, "merge_sets", params));
  return seen.scores[0];
}

TEST(KvMerger, lanes_are_chosen_and_merge_as_the_formulas_in_numpy_do) {
  std::vector<FixtureLane> lanes = read_lanes("kvmerger");
  ASSERT_EQ(lanes.size(), 2u);
  for (FixtureLane& each : lanes) {
    const JsonNode params = parse_json(each.params, "fixture").value();
    const double heavy = params.find("heavy")->number, budget = params.find("budget")->number;
    std::ostringstream set, weight;
    set << R"({ "set": )" << params.find("set")->number << R"(, "heavy": )" << heavy << " }";
    weight << R"({ "heavy": )" << heavy << " }";
    each.lane.unfiltered = scores_of_sums(each, set.str(), budget / static_cast<double>(each.n));
    each.lane.scores = each.lane.unfiltered;
    for (const std::size_t t : each.is_protected) each.lane.scores[t] = kNeverEvict;
    EXPECT_EQ(kept(each.lane.scores, each.kept.size()), each.kept);
    each.lane.merge("neighbours", weight.str());
    expect_merged(each);
  }
}

// --- in a cache ----------------------------------------------------------------------------------

// What every lane packs counts all tokens that merged: ends, which are exact, and heavy ones count
// one.
TEST(KvMerger, a_cache_keeps_the_counts_and_nothing_is_lost) {
  std::string recipe = Recipe::builtin("kvmerger").value().json();
  const std::string limit = "\"epsilon\":0.75,";  // random keys are less alike than that
  ASSERT_NE(recipe.find(limit), std::string::npos);
  recipe.erase(recipe.find(limit), limit.size());
  CacheDriver driver({.recipe = recipe});
  ASSERT_TRUE(driver.read(600).ok());
  EXPECT_TRUE(driver.recipe().pipeline().needs_counts());
  for (std::size_t layer = 0; layer < driver.shape().n_layers(); ++layer)
    for (std::size_t head = 0; head < 2; ++head) {
      double stands_for = 0;
      std::size_t n_more = 0;
      const DecodedLane lane = driver.decode(layer, head);
      for (const auto& [position, token] : lane) {
        stands_for += std::exp(token.log_count);
        n_more += token.log_count > 0.5 ? 1u : 0u;
      }
      EXPECT_EQ(lane.size(), 300u);
      EXPECT_NEAR(stands_for, 600, 12) << layer << " " << head;
      EXPECT_GT(n_more, 50u) << layer << " " << head;
    }
  EXPECT_LT(driver.attention_error(), 1e-3);
}
}  // namespace
}  // namespace satchel::kvcache
