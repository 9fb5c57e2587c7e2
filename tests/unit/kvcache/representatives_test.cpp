// Golden cases of the assigner representatives (KVCrush, arXiv:2503.00022), worked out by hand, and
// what must hold of it for any lanes.
#include <gmock/gmock.h>

#include <algorithm>
#include <set>

#include "kernels/base/rng.h"
#include "unit/kvcache/cache_driver.h"
#include "unit/kvcache/stage_fixture.h"

namespace satchel::kvcache {
namespace {

using testing::ElementsAre;
using Tokens = std::vector<std::size_t>;

struct Lane {
  std::vector<float> scores;
  std::size_t budget = 0;
};
// What each lane keeps.
std::vector<Tokens> kept_of(const std::vector<Lane>& lanes, const std::string& params) {
  std::vector<std::vector<std::uint8_t>> tiers;
  for (const Lane& lane : lanes) tiers.emplace_back(lane.scores.size(), std::uint8_t{77});
  std::vector<AssignedLane> assigned;
  for (std::size_t i = 0; i < lanes.size(); ++i)
    assigned.push_back({.scores = lanes[i].scores, .budget = lanes[i].budget, .tiers = tiers[i]});
  make<Assigner>(StageKind::assigner, "representatives", params)->assign_layer(assigned);
  std::vector<Tokens> kept(lanes.size());
  for (std::size_t i = 0; i < lanes.size(); ++i)
    for (std::size_t t = 0; t < tiers[i].size(); ++t)
      if (tiers[i][t] != kGone) {
        EXPECT_EQ(tiers[i][t], 0);
        kept[i].push_back(t);
      }
  return kept;
}

// Tokens with the bits 1111, 0000, 1010, 0101, 1100 and 0001, a lane for each bit.
const std::vector<Lane> kBits = {{{9, 1, 9, 1, 9, 1}, 3},
                                 {{9, 1, 1, 9, 9, 1}, 3},
                                 {{9, 1, 9, 1, 1, 1}, 2},
                                 {{9, 1, 1, 9, 1, 9}, 3}};

// Kc1. Distances to 0101: 2, 2, 4, 0, 2, 1; order 3, 5, 0, 1, 4, 2. Three parts have the middles 5,
// 1 and 2; a lane that keeps two has 5 and 4.
TEST(Representatives, kc1_are_the_middles_of_equal_parts_in_order_of_distance) {
  EXPECT_THAT(kept_of(kBits, R"({ "share": 1, "alternate": true })"),
              ElementsAre(ElementsAre(1, 2, 5), ElementsAre(1, 2, 5), ElementsAre(4, 5),
                          ElementsAre(1, 2, 5)));
}

// Kc2. No bit has more than half of the tokens: the mean is 0000, distances 4, 0, 2, 2, 2, 1, order
// 1, 5, 2, 3, 4, 0.
TEST(Representatives, kc2_the_mean_has_a_bit_where_more_than_half_of_the_tokens_have_it) {
  EXPECT_THAT(kept_of(kBits, R"({ "share": 1 })"),
              ElementsAre(ElementsAre(0, 3, 5), ElementsAre(0, 3, 5), ElementsAre(4, 5),
                          ElementsAre(0, 3, 5)));
  // One that three of four tokens have: distances to 1 are 0, 0, 0 and 1.
  EXPECT_THAT(kept_of({{{4, 3, 2, 1}, 3}}, R"({ "share": 1 })"), ElementsAre(ElementsAre(0, 2, 3)));
}

// Kc3.
TEST(Representatives, kc3_none_is_the_base_alone_and_as_many_as_tokens_are_all_of_them) {
  EXPECT_THAT(kept_of(kBits, R"({ "share": 0 })"),
              ElementsAre(ElementsAre(0, 2, 4), ElementsAre(0, 3, 4), ElementsAre(0, 2),
                          ElementsAre(0, 3, 5)));
  std::vector<Lane> whole = kBits;
  for (Lane& lane : whole) lane.budget = 6;
  for (const char* share : {R"({ "share": 1 })", R"({ "share": 0.25 })"})
    EXPECT_THAT(kept_of(whole, share), testing::Each(ElementsAre(0, 1, 2, 3, 4, 5)));
}

// Both lanes have two best and one representative. All six may go somewhere; seen from 01 the order
// is 3, 4, 5, 0, 1, 2 and the middle 0, which the first lane has among its best.
TEST(Representatives, a_lane_that_has_one_anyway_takes_its_next_best) {
  EXPECT_THAT(kept_of({{{9, 8, 7, 6, 5, 4}, 3}, {{4, 5, 6, 7, 8, 9}, 3}},
                      R"({ "share": 0.34, "alternate": true })"),
              ElementsAre(ElementsAre(0, 1, 2), ElementsAre(0, 4, 5)));
}

// Token 0 is the best of both lanes, token 6 protected in both. Token 1 is among the three best:
// the candidates stand in the order 2, 3, 4, 5, 1.
TEST(Representatives, what_stays_in_every_lane_stands_for_nobody) {
  EXPECT_THAT(kept_of({{{9, 1, 1, 1, 1, 1, kNeverEvict}, 3}, {{9, 1, 1, 1, 1, 1, kNeverEvict}, 3}},
                      R"({ "share": 0.5 })"),
              ElementsAre(ElementsAre(0, 4, 6), ElementsAre(0, 4, 6)));
}

// The representative is the middle of 2, 3, 4, 1, which the first lane lost long ago.
TEST(Representatives, what_a_lane_has_lost_does_not_come_back) {
  EXPECT_THAT(kept_of({{{9, 8, 7, 1, kNotThere}, 2}, {{9, 8, 7, 6, 5}, 2}}, R"({ "share": 0.5 })"),
              ElementsAre(ElementsAre(0, 1), ElementsAre(0, 4)));
}

TEST(Representatives, one_lane_is_a_layer_of_one_lane) {
  const std::vector<float> scores = {5, 3, 8, 1, 9, 2, 7, 4};
  std::vector<std::uint8_t> tiers(8);
  const std::string half = R"({ "share": 0.5 })";
  make<Assigner>(StageKind::assigner, "representatives", half)->assign(scores, 4, tiers);
  Tokens kept;
  for (std::size_t t = 0; t < tiers.size(); ++t)
    if (tiers[t] != kGone) kept.push_back(t);
  EXPECT_EQ(kept, kept_of({{scores, 4}}, half)[0]);
  EXPECT_THAT(kept, ElementsAre(0, 2, 3, 4));  // of 1, 3, 5, 7, 0 and 6 the second and the fifth
}

// Budgets, protected and lost tokens of every kind.
TEST(Representatives, every_lane_keeps_exactly_its_budget_with_all_that_is_protected) {
  Rng rng(7);
  for (std::size_t round = 0; round < 500; ++round) {
    const std::size_t n = 1 + rng.next() % 50, n_lanes = 1 + rng.next() % 5;
    std::vector<Lane> lanes(n_lanes);
    for (Lane& lane : lanes) {
      std::size_t least = 0, most = 0;
      for (std::size_t t = 0; t < n; ++t) {
        const std::uint64_t kind = rng.next() % 8;
        lane.scores.push_back(kind == 0   ? kNeverEvict
                              : kind == 1 ? kNotThere
                                          : static_cast<float>(rng.next() % 20));
        least += kind == 0 ? 1 : 0;
        most += kind == 1 ? 0 : 1;
      }
      lane.budget = least + rng.next() % (most - least + 1);
    }
    for (const char* params : {"{}", R"({ "share": 0.9 })", R"({ "alternate": true })"}) {
      const std::vector<Tokens> kept = kept_of(lanes, params);
      for (std::size_t i = 0; i < n_lanes; ++i) {
        ASSERT_EQ(kept[i].size(), lanes[i].budget);
        const std::set<std::size_t> stays(kept[i].begin(), kept[i].end());
        for (std::size_t t = 0; t < n; ++t) {
          if (lanes[i].scores[t] == kNeverEvict) {
            ASSERT_TRUE(stays.contains(t));
          } else if (lanes[i].scores[t] == kNotThere) {
            ASSERT_FALSE(stays.contains(t));
          }
        }
      }
    }
  }
}

// Of 600 tokens each lane keeps 150: 36 at the ends, 85 by score, 29 representatives.
TEST(Representatives, the_recipe_keeps_in_all_lanes_of_a_layer_some_that_snapkv_keeps_in_none) {
  const CacheDriver::Setup setup{.n_layers = 2, .n_heads = 6, .n_kv_heads = 3, .head_dim = 32};
  std::vector<std::vector<std::vector<std::int32_t>>> kept;
  for (const char* recipe : {"snapkv", "kvcrush"}) {
    CacheDriver::Setup with = setup;
    with.recipe = recipe;
    CacheDriver driver(with);
    driver.check_attention = false;
    ASSERT_TRUE(driver.read(600).ok());
    kept.push_back(driver.all_kept());
  }
  for (std::size_t layer = 0; layer < 2; ++layer) {
    std::set<std::int32_t> shared, of_base;
    for (std::size_t lane = layer * 3; lane < layer * 3 + 3; ++lane) {
      EXPECT_EQ(kept[0][lane].size(), 150u);
      EXPECT_EQ(kept[1][lane].size(), 150u);
      const std::set<std::int32_t> base(kept[0][lane].begin(), kept[0][lane].end());
      std::set<std::int32_t> others;
      for (const std::int32_t at : kept[1][lane])
        if (!base.contains(at)) others.insert(at);
      EXPECT_LE(others.size(), 29u);
      EXPECT_GE(others.size(), 15u);
      of_base.insert(base.begin(), base.end());
      shared = lane % 3 == 0 ? std::set(kept[1][lane].begin(), kept[1][lane].end()) : shared;
      std::erase_if(
          shared, [&](std::int32_t at) { return !std::ranges::binary_search(kept[1][lane], at); });
    }
    std::erase_if(shared, [&](std::int32_t at) { return of_base.contains(at); });
    EXPECT_GE(shared.size(), 5u);
  }
}

}  // namespace
}  // namespace satchel::kvcache
