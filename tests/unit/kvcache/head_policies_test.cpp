// Golden cases of the scorer head_policies (FastGen, arXiv:2310.01801), worked out by hand, and
// what the recipe fastgen keeps against plain loops over the attention map.
#include <gmock/gmock.h>

#include <array>
#include <numeric>

#include "unit/kvcache/cache_driver.h"
#include "unit/kvcache/stage_fixture.h"

namespace satchel::kvcache {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

constexpr float kWithin = 1e-3f;  // what a place inside a set makes at most

const std::vector<KnownMap::Row> kF5 = {{1, 0, 0, 0, 0},
                                        {0.50, 0.50, 0, 0, 0},
                                        {0.50, 0.10, 0.40, 0, 0},
                                        {0.40, 0.05, 0.35, 0.20, 0},
                                        {0.30, 0.05, 0.25, 0.10, 0.30}};
constexpr const char* kTwoFifths = R"({ "special": 1, "frequent": 0.4, "local": 0.4 })";

std::vector<float> scores_of(const std::vector<KnownMap::Row>& rows, const std::string& params,
                             std::size_t chunk) {
  const auto backend = test::open_reference();
  return KnownMap::square(rows).scores(*make<Scorer>(StageKind::scorer, "head_policies", params),
                                       *backend, Purpose::prefill, chunk);
}
// Tokens without which more than `missed` of the attention would be missing.
std::vector<std::size_t> needed(const std::vector<float>& scores, float missed) {
  std::vector<std::size_t> tokens;
  for (std::size_t t = 0; t < scores.size(); ++t)
    if (scores[t] > missed) tokens.push_back(t);
  return tokens;
}

// F5: the first token recovers .54 of the attention, {0, 2} .74, with two local tokens it is .98.
TEST(HeadPolicies, a_token_is_worth_what_the_set_before_it_misses) {
  for (const std::size_t chunk : {1u, 2u, 3u, 5u}) {
    const std::vector<float> scores = scores_of(kF5, kTwoFifths, chunk);
    EXPECT_THAT(scores, Pointwise(FloatNear(kWithin), {1.0f, 1 - 0.98f, 1 - 0.54f, 0.26f, 0.26f}));
    EXPECT_THAT(needed(scores, 1 - 0.5f), ElementsAre(0));
    EXPECT_THAT(needed(scores, 1 - 0.7f), ElementsAre(0, 2));
    EXPECT_THAT(needed(scores, 1 - 0.95f), ElementsAre(0, 2, 3, 4));
    EXPECT_THAT(needed(scores, 1 - 0.99f), ElementsAre(0, 1, 2, 3, 4));
    EXPECT_THAT(needed(scores, 0), ElementsAre(0, 1, 2, 3, 4));
  }
}

// No query looks at itself, so that near tokens recover nothing; the last one, which nobody looks
// at, goes before the others all the same.
TEST(HeadPolicies, sets_come_one_after_the_other_where_they_miss_as_much) {
  const std::vector<KnownMap::Row> rows = {
      {1, 0, 0, 0}, {1, 0, 0, 0}, {0.5, 0.5, 0, 0}, {0.5, 0.3, 0.2, 0}};
  const std::vector<float> scores =
      scores_of(rows, R"({ "special": 1, "frequent": 0, "local": 0.25 })", 4);
  EXPECT_THAT(scores, Pointwise(FloatNear(kWithin), {1.0f, 0.25f, 0.25f, 0.25f}));
  EXPECT_GT(scores[3], scores[1]);
  EXPECT_GT(scores[1], scores[2]);
}

// In one set who is looked at more goes first, of equals the earlier one by the ranking of all
// stages.
TEST(HeadPolicies, inside_a_set_tokens_stand_in_order_of_their_column_sums) {
  const std::vector<KnownMap::Row> rows = {
      {1, 0, 0, 0, 0, 0},         {0.8, 0.2, 0, 0, 0, 0},       {0.5, 0.3, 0.2, 0, 0, 0},
      {0.5, 0.2, 0.1, 0.2, 0, 0}, {0.3, 0.1, 0.1, 0.4, 0.1, 0}, {0.3, 0.1, 0.1, 0.3, 0.1, 0.1}};
  const std::vector<float> scores =
      scores_of(rows, R"({ "special": 1, "frequent": 0, "local": 0 })", 6);
  // Sums .9, .5, .9, .2 and .1 behind the first.
  EXPECT_THAT(kept(scores, 5), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(kept(scores, 4), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(kept(scores, 3), ElementsAre(0, 1, 3));
  EXPECT_FLOAT_EQ(scores[1], scores[3]);
}

// A lane that looks at its first token alone needs no more; of six tokens for two lanes it has one,
// and the lane that looks at all alike the rest.
TEST(HeadPolicies, lanes_whose_simple_sets_suffice_leave_their_share_to_others) {
  std::vector<KnownMap::Row> first(5, KnownMap::Row(5)), all(5, KnownMap::Row(5));
  for (std::size_t i = 0; i < 5; ++i) {
    first[i][0] = 1;
    for (std::size_t j = 0; j <= i; ++j) all[i][j] = 1 / double(i + 1);
  }
  const std::vector<std::vector<float>> lanes = {scores_of(first, kTwoFifths, 2),
                                                 scores_of(all, kTwoFifths, 2)};
  const auto allocator = make<Allocator>(StageKind::allocator, "over_all");
  EXPECT_THAT(budgets_of(*allocator, lanes, 6), ElementsAre(1, 5));
  EXPECT_THAT(budgets_of(*allocator, lanes, 4), ElementsAre(1, 3));
}

TEST(HeadPolicies,
     what_is_looked_at_of_earlier_text_is_not_missed_and_its_first_tokens_are_not_here) {
  const auto scorer = make<Scorer>(StageKind::scorer, "head_policies",
                                   R"({ "special": 1, "frequent": 0.5, "local": 0 })");
  EXPECT_THAT(LaterText().scores(*scorer), Pointwise(FloatNear(kWithin), {1.4f / 2, 0.32f / 2}));
}

// --- the recipe ----------------------------------------------------------------------------------

using Row = std::vector<double>;

// [query][key] of a lane, the mean over its query heads.
std::vector<Row> map_of(CacheDriver& driver, std::size_t layer, std::size_t head, std::size_t n) {
  const LayerShape& shape = driver.shape().layers[layer];
  std::vector<std::int32_t> positions(n);
  std::iota(positions.begin(), positions.end(), 0);
  const DecodedLane lane = driver.masked(layer, head, positions);
  std::vector<Row> rows(n, Row(n));
  for (std::size_t i = 0; i < n; ++i) {
    const std::vector<float> q = driver.q(layer, i);
    for (std::size_t h = head * shape.n_group(); h < (head + 1) * shape.n_group(); ++h)
      for (const auto& [at, weight] :
           attend_plainly(q.data() + h * shape.head_dim, shape, positions[i], lane).weights)
        rows[i][static_cast<std::size_t>(at)] += weight / static_cast<double>(shape.n_group());
  }
  return rows;
}
double recovered(const std::vector<Row>& map, const std::vector<bool>& always, std::size_t reach) {
  double mass = 0;
  for (std::size_t i = 0; i < map.size(); ++i)
    for (std::size_t j = 0; j <= i; ++j)
      if (always[j] || i - j < reach) mass += map[i][j];
  return mass / static_cast<double>(map.size());
}
// Which set each token is in, and what the one before it misses.
std::vector<std::pair<std::size_t, double>> sets_of(const std::vector<Row>& map) {
  const std::size_t n = map.size(), n_share = (3 * n + 5) / 10;
  std::vector<float> sums(n);
  for (const Row& row : map)
    for (std::size_t j = 0; j < n; ++j) sums[j] += static_cast<float>(row[j]);
  std::vector<bool> special(n), frequent(n), all(n, true);
  for (std::size_t j = 0; j < 4; ++j) special[j] = frequent[j] = true;
  for (const std::size_t j : kept(sums, n_share)) frequent[j] = true;
  const std::array<double, 4> missed = {1, 1 - recovered(map, special, 0),
                                        1 - recovered(map, frequent, 0),
                                        1 - recovered(map, frequent, n_share)};
  std::vector<std::pair<std::size_t, double>> sets;
  for (std::size_t j = 0; j < n; ++j) {
    const std::size_t set = special[j] ? 0 : frequent[j] ? 1 : j + n_share >= n ? 2 : 3;
    sets.emplace_back(set, missed[set]);
  }
  return sets;
}

// Of two tokens of a layer, in whichever lanes, the one that is missed clearly more goes last; and
// each layer keeps the recipe's share.
TEST(HeadPolicies, the_recipe_keeps_in_a_layer_s_lanes_what_is_missed_most) {
  constexpr std::size_t kTokens = 300;
  CacheDriver driver({.recipe = "fastgen", .n_layers = 2, .n_heads = 4, .head_dim = 32});
  driver.check_attention = false;
  ASSERT_TRUE(driver.read(kTokens, {.chunk = 64}).ok());
  for (std::size_t layer = 0; layer < 2; ++layer) {
    double least_kept = 2, most_gone = 0;
    std::size_t n_kept = 0;
    for (std::size_t head = 0; head < 2; ++head) {
      const auto sets = sets_of(map_of(driver, layer, head, kTokens));
      const std::vector<std::int32_t> now = driver.kept(layer, head);
      n_kept += now.size();
      std::vector<bool> stays(kTokens);
      for (const std::int32_t at : now) stays[static_cast<std::size_t>(at)] = true;
      for (std::size_t j = 4; j < kTokens - 16; ++j)
        if (stays[j])
          least_kept = std::min(least_kept, sets[j].second);
        else
          most_gone = std::max(most_gone, sets[j].second);
    }
    EXPECT_EQ(n_kept, kTokens);  // half of both lanes
    EXPECT_LE(most_gone, least_kept + double{kWithin});
    EXPECT_GT(most_gone, 0.01);  // so that it says something
  }
}

}  // namespace
}  // namespace satchel::kvcache
