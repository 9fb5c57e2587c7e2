// The echo scorer: numbers by hand from its formula, and plain loops over it on made-up text.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "unit/kvcache/cache_driver.h"
#include "unit/kvcache/lane_table_recipe.h"
#include "unit/kvcache/stage_fixture.h"

namespace satchel::kvcache {
namespace {

using testing::FloatNear;
using testing::IsSupersetOf;
using testing::Pointwise;

std::vector<float> scored(const KnownMap& map, const std::string& params = "{}") {
  const auto backend = test::open_reference();
  return map.scores(*make<Scorer>(StageKind::scorer, "echo", params), *backend, Purpose::prefill,
                    1);
}
constexpr const char* kBand = "{\"band\": true}";
float log_of(double x) {
  return static_cast<float>(std::log(x));
}

// Each row has the exp of its logits for both keys, future ones included.
KnownMap two_tokens() {
  KnownMap map({{{2, 6}}, {{4, 3}}}, {0, 1}, 0);
  map.lse = {log_of(2), log_of(4 + 3)};  // what each sees as it is read
  return map;
}

// E1: 2, 6 of 2 + 6 + 2 and 4, 3 of 4 + 3 + 7.
TEST(EchoGolden, two_tokens_get_the_column_maximum_over_all_keys_and_the_own_past) {
  EXPECT_THAT(scored(two_tokens()), Pointwise(FloatNear(1e-5f), {4.0f / 14, 6.0f / 10}));
}

// E2.
TEST(EchoGolden, without_an_own_past_it_is_the_column_maximum_of_plain_attention_without_a_mask) {
  KnownMap map = two_tokens();
  map.lse.assign(2, -std::numeric_limits<float>::infinity());
  EXPECT_THAT(scored(map), Pointwise(FloatNear(1e-5f), {4.0f / 7, 6.0f / 8}));
}

TEST(EchoGolden, the_first_tokens_take_their_part_of_every_query) {
  KnownMap map({{{5, 2, 6}}, {{2, 4, 3}}}, {0, 1, 2}, 1);
  map.n_sinks = 1;
  map.lse = {log_of(5 + 2), log_of(2 + 4 + 3)};
  EXPECT_THAT(scored(map), Pointwise(FloatNear(1e-5f), {4.0f / 18, 6.0f / 20}));
  // The band sees 2, 6 beside a past of 7, and 3 beside a past of 9.
  EXPECT_THAT(scored(map, kBand), Pointwise(FloatNear(1e-5f), {2.0f / 15, 6.0f / 15}));
}

TEST(EchoGolden, of_several_heads_the_one_that_looks_hardest_counts_not_their_mean) {
  KnownMap map({{{2, 6}, {9, 1}}, {{4, 3}, {1, 1}}}, {0, 1}, 0);
  map.lse = {log_of(2), log_of(9), log_of(7), log_of(2)};
  EXPECT_THAT(scored(map), Pointwise(FloatNear(1e-5f), {9.0f / 19, 6.0f / 10}));
}

// Keys (1, 0) and (0, 1), queries the same; the one pair of coordinates turns by one radian a
// token, so by two for a block of two.
TEST(EchoGolden, queries_are_rotated_forward_by_the_length_of_their_block) {
  KnownMap map = two_tokens();
  map.layer.inverse_frequency = {1};
  map.lse = {0, 0};
  std::fill(map.q.begin(), map.q.end(), 0.0f);
  map.q[0] = map.q[KnownMap::kDim + 1] = 1;
  const double c = std::exp(std::cos(2)), s = std::exp(std::sin(2)), minus_s = 1 / s;
  const double first = c + s + 1, second = minus_s + c + 1;
  EXPECT_THAT(scored(map), Pointwise(FloatNear(1e-5f),
                                     {static_cast<float>(std::max(c / first, minus_s / second)),
                                      static_cast<float>(std::max(s / first, c / second))}));
}

// --- plain loops ---------------------------------------------------------------------------------

using Scores = std::vector<std::vector<double>>;  // [n_lanes][tokens]

std::vector<double> rotated(const std::vector<float>& q, std::size_t head, const LayerShape& layer,
                            std::size_t by) {
  std::vector<double> out(layer.head_dim);
  for (std::size_t c = 0; c < layer.head_dim; ++c) out[c] = double{q[head * layer.head_dim + c]};
  for (std::size_t i = 0; i < layer.inverse_frequency.size(); ++i) {
    const double angle = static_cast<double>(by) * layer.inverse_frequency[i];
    const double x = out[2 * i], y = out[2 * i + 1];
    out[2 * i] = x * std::cos(angle) - y * std::sin(angle);
    out[2 * i + 1] = x * std::sin(angle) + y * std::cos(angle);
  }
  return out;
}

struct PlainEcho {
  std::size_t first = 0, n = 0, block = 0;  // tokens; of all blocks but a shorter last one
  bool looks_at_band = false;               // and no further
  bool normalises_over_band = false;        // and not over the first tokens and the block
};

// One query head over one block; scores [tokens of the block].
void raise_by_head(CacheDriver& driver, std::size_t layer, std::size_t head, const PlainEcho& echo,
                   std::size_t begin, std::span<double> scores) {
  const LayerShape& shape = driver.shape().layers[layer];
  const DecodedLane lane = driver.decode(layer, head / shape.n_group());
  const std::size_t end = begin + scores.size();
  for (std::size_t t = begin; t < end; ++t) {
    const std::vector<float> q = driver.q(layer, t);
    const std::vector<double> later = rotated(q, head, shape, scores.size());
    const auto now = static_cast<std::int32_t>(t);
    const double past = attend_plainly(q.data() + head * shape.head_dim, shape, now, lane).lse;
    double sum = std::exp(past);
    std::map<std::size_t, double> looks;
    for (const auto& [position, token] : lane) {
      const auto j = static_cast<std::size_t>(position);
      const bool inside = j >= begin && j < end, in_band = inside && (j == t || j == t + 1);
      double dot = 0;
      for (std::size_t c = 0; c < shape.head_dim; ++c) dot += later[c] * double{token.k[c]};
      const double look = std::exp(dot * double{shape.attention_scale});
      if (echo.normalises_over_band ? in_band : inside || j < kSinkTokens) sum += look;
      if (echo.looks_at_band ? in_band : inside) looks[j] = look;
    }
    for (const auto& [j, look] : looks) scores[j - begin] = std::max(scores[j - begin], look / sum);
  }
}

Scores plain(CacheDriver& driver, const PlainEcho& echo) {
  Scores all;
  for (std::size_t lane = 0; lane < driver.n_lanes(); ++lane) {
    const std::size_t layer = lane / 2, n_group = driver.shape().layers[layer].n_group();
    std::vector<double>& scores = all.emplace_back(echo.n);
    for (std::size_t head = lane % 2 * n_group; head < (lane % 2 + 1) * n_group; ++head)
      for (std::size_t at = 0; at < echo.n; at += echo.block)
        raise_by_head(driver, layer, head, echo, echo.first + at,
                      std::span(scores).subspan(at, std::min(echo.block, echo.n - at)));
  }
  return all;
}

CacheDriver driver_of(const std::string& trigger, const std::string& scorer) {
  return CacheDriver(
      {.recipe = lane_table_recipe(trigger, scorer), .n_layers = 2, .n_heads = 4, .head_dim = 32});
}

Scores waiting(CacheDriver& driver) {
  Scores all;
  for (std::size_t lane = 0; lane < driver.n_lanes(); ++lane) {
    const auto scores = driver.cache().inspector().pending_scores(lane);
    EXPECT_TRUE(scores.ok());
    all.emplace_back(scores->begin(), scores->end());
  }
  return all;
}
double largest_difference(const Scores& a, const Scores& b) {
  double largest = 0;
  for (std::size_t lane = 0; lane < a.size(); ++lane) {
    EXPECT_EQ(a[lane].size(), b[lane].size());
    for (std::size_t t = 0; t < a[lane].size(); ++t)
      largest = std::max(largest, std::abs(a[lane][t] - b[lane][t]));
  }
  return largest;
}

constexpr std::size_t kText = 150;
constexpr double kRounding = 1e-5;  // of scores up to 1

// Blocks of 64 at most: three of 50. With text before it, whose first tokens are the sinks and
// which counts in the own past alone, and without.
TEST(Echo, scores_that_wait_are_what_plain_loops_give_with_and_without_text_before) {
  for (const std::size_t n_before : {0u, 2u, 40u})
    for (const bool band : {false, true}) {
      CacheDriver driver = driver_of(kWaits, "{ \"use\": \"echo\", \"block\": 64" +
                                                 std::string(band ? ", \"band\": true }" : " }"));
      if (n_before > 0) {
        ASSERT_TRUE(driver.read(n_before, {.kind = SegmentKind::pinned}).ok());
      }
      ASSERT_TRUE(driver.read(kText).ok());
      const Scores expected = plain(driver, {.first = n_before,
                                             .n = kText,
                                             .block = 50,
                                             .looks_at_band = band,
                                             .normalises_over_band = band});
      EXPECT_LE(largest_difference(waiting(driver), expected), kRounding)
          << n_before << " " << band;
    }
}

// E3.
TEST(Echo, scores_do_not_depend_on_the_chunks_that_a_text_comes_in) {
  for (const char* scorer : {R"({ "use": "echo" })", R"({ "use": "echo", "block": 64 })",
                             R"({ "use": "echo", "band": true, "block": 64 })"}) {
    const auto scores = [&](std::size_t chunk) {
      CacheDriver driver = driver_of(kWaits, scorer);
      EXPECT_TRUE(driver.read(kText, {.chunk = chunk}).ok());
      return waiting(driver);
    };
    const Scores whole = scores(kText);
    for (const std::size_t chunk : {1u, 7u, 50u, 64u, 128u})
      EXPECT_LE(largest_difference(scores(chunk), whole), kRounding) << scorer << " " << chunk;
  }
}

// E4: the echo within the band, which has the larger normaliser, is no more than either.
TEST(Echo, within_the_band_gives_no_token_more_than_the_band_or_the_whole_echo_does) {
  CacheDriver whole = driver_of(kWaits, R"({ "use": "echo", "block": 64 })");
  CacheDriver band = driver_of(kWaits, R"({ "use": "echo", "band": true, "block": 64 })");
  for (CacheDriver* driver : {&whole, &band}) ASSERT_TRUE(driver->read(kText).ok());
  const Scores within = plain(whole, {.n = kText, .block = 50, .looks_at_band = true});
  const Scores by_whole = waiting(whole), by_band = waiting(band);
  std::size_t n_less = 0;
  for (std::size_t lane = 0; lane < within.size(); ++lane)
    for (std::size_t t = 0; t < kText; ++t) {
      ASSERT_LE(within[lane][t], by_whole[lane][t] + kRounding) << lane << " " << t;
      ASSERT_LE(within[lane][t], by_band[lane][t] + kRounding) << lane << " " << t;
      n_less += within[lane][t] < by_band[lane][t] - kRounding ? 1u : 0u;
    }
  EXPECT_GT(n_less, kText) << "normalisers did not differ";
}

std::shared_ptr<const HeadBudgets> table_of(std::vector<double> shares) {
  HeadBudgets table{.model = "m", .name = "n", .source = "s", .rows = {}};
  table.rows.push_back({.keep = 0.5, .shares = std::move(shares)});
  return std::make_shared<const HeadBudgets>(std::move(table));
}

// E5: lanes whose budget leaves no choice are not scored. Lane 0 has the same budget both times,
// lane
// 3 a smaller one the second time.
TEST(Echo, a_lane_keeps_the_same_whether_the_lanes_beside_it_are_scored_or_not) {
  constexpr std::size_t kTokens = 200;
  const auto kept_with = [](std::vector<double> shares) {
    CacheDriver driver = driver_of(kDecides, R"({ "use": "echo", "block": 64 })");
    driver.cache().set_head_budgets(table_of(std::move(shares)));
    EXPECT_TRUE(driver.read(kTokens).ok());
    return driver.all_kept();
  };
  const auto all_scored = kept_with({0.5, 0.5, 0.5, 0.5});
  const auto two_scored = kept_with({0.5, 1.0, 0.1, 0.4});
  const std::vector<std::size_t> sizes = {100, 200, 20, 80};
  for (std::size_t lane = 0; lane < sizes.size(); ++lane) {
    EXPECT_EQ(all_scored[lane].size(), 100u);
    EXPECT_EQ(two_scored[lane].size(), sizes[lane]);
  }
  EXPECT_EQ(two_scored[0], all_scored[0]);
  EXPECT_THAT(all_scored[3], IsSupersetOf(two_scored[3]));
}

TEST(Echo, a_lane_keeps_its_ends_and_the_best_by_plain_loops) {
  constexpr std::size_t kTokens = 200, kTail = 16, kBudget = 100;
  const std::string scorer = R"({ "use": "echo", "block": 64 })";
  CacheDriver decides = driver_of(kDecides, scorer), waits = driver_of(kWaits, scorer);
  decides.cache().set_head_budgets(table_of({0.5, 0.5, 0.5, 0.5}));
  for (CacheDriver* driver : {&decides, &waits}) ASSERT_TRUE(driver->read(kTokens).ok());
  const Scores scores = plain(waits, {.n = kTokens, .block = 50});
  const auto kept = decides.all_kept();
  for (std::size_t lane = 0; lane < kept.size(); ++lane) {
    std::vector<std::int32_t> order(kTokens - kSinkTokens - kTail);
    std::iota(order.begin(), order.end(), static_cast<std::int32_t>(kSinkTokens));
    std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
      return scores[lane][static_cast<std::size_t>(a)] > scores[lane][static_cast<std::size_t>(b)];
    });
    std::set<std::int32_t> expected(order.begin(), order.begin() + kBudget - kSinkTokens - kTail);
    for (std::size_t t = 0; t < kSinkTokens; ++t) expected.insert(static_cast<std::int32_t>(t));
    for (std::size_t t = kTokens - kTail; t < kTokens; ++t)
      expected.insert(static_cast<std::int32_t>(t));
    EXPECT_EQ(std::set(kept[lane].begin(), kept[lane].end()), expected) << lane;
  }
}

TEST(Echo, nothing_waits_where_nothing_was_read_or_all_was_decided) {
  CacheDriver driver = driver_of(kWaits, R"({ "use": "echo" })");
  EXPECT_EQ(driver.cache().inspector().pending_scores(0).error().code, "CACHE_SCORES");
  ASSERT_TRUE(driver.read(kText).ok());
  EXPECT_EQ(driver.cache().inspector().pending_scores(0)->size(), kText);
  ASSERT_TRUE(driver.cache().compactor().compact(TriggerEvent::asked).ok());
  EXPECT_EQ(driver.cache().inspector().pending_scores(0).error().code, "CACHE_SCORES");
}

}  // namespace
}  // namespace satchel::kvcache
