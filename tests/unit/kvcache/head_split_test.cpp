// Lanes that keep all and lanes that keep their newest: head_split, the recipes that choose it, and
// HeadKV's budgets by lane_table.
#include <gmock/gmock.h>

#include <numeric>

#include "kernels/base/rng.h"
#include "kvcache/stages/apportion.h"
#include "kvcache/stages/share.h"
#include "unit/kvcache/cache_driver.h"
#include "unit/kvcache/stage_fixture.h"

namespace satchel::kvcache {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::SizeIs;
using Budgets = std::vector<std::size_t>;

HeadBudgets table_of(std::vector<std::vector<double>> rows) {
  HeadBudgets table{.model = "", .name = "", .source = "", .rows = {}};
  for (std::vector<double>& shares : rows)
    table.rows.push_back(
        {.keep = 0.1 * double(table.rows.size() + 1), .shares = std::move(shares)});
  return table;
}

struct Ask {
  std::size_t n_tokens = 1000;
  double keep = 0.5;
  std::size_t n_protected = 20;
  std::string params = "{}";
  std::size_t n_layers = 1;
};
TokenSpan span_of(const HeadBudgets& table, const Ask& ask) {
  return {.n_layers = ask.n_layers,
          .n_lanes = table.n_lanes(),
          .n_tokens = ask.n_tokens,
          .keep = ask.keep,
          .head_budgets = &table};
}
Budgets known(const HeadBudgets& table, const Ask& ask) {
  const auto allocator = make<Allocator>(StageKind::allocator, "head_split", ask.params);
  Budgets budgets(table.n_lanes());
  EXPECT_TRUE(allocator->known(span_of(table, ask), ask.n_protected, budgets));
  return budgets;
}

// Du1: arXiv:2410.10819. Of the gates ((.9, .1), (.5, -.2)), clipped at 0, half are whole.
TEST(HeadSplit, duo_attention_keeps_the_lanes_with_the_larger_gates_whole) {
  const HeadBudgets table = table_of({{0.9, 0.1, 0.5, 0}});
  const double half_are_whole = (1 + 0.32) / 2;
  const Ask ask{.keep = half_are_whole, .n_protected = 80, .params = "{\"recent\": 240}"};
  EXPECT_THAT(known(table, ask), ElementsAre(1000, 320, 1000, 320));
}

// Du2.
TEST(HeadSplit, of_equal_gates_the_lower_lanes_are_whole) {
  const HeadBudgets table = table_of({{0.3, 0.3, 0.3, 0.3, 0.3, 0.3}});
  EXPECT_THAT(known(table, {.keep = 0.51}), ElementsAre(1000, 1000, 1000, 20, 20, 20));
}

// Ra2: arXiv:2407.15891. Of ten tokens a lane that does not retrieve keeps a sink and the last two.
TEST(HeadSplit, razor_attention_keeps_the_first_and_the_newest_fifth_elsewhere) {
  const HeadBudgets table = table_of({{0.1, 0.9}});
  const Ask ask{
      .n_tokens = 10, .keep = 0.65, .n_protected = 1, .params = "{\"recent_share\": 0.2}"};
  const Budgets budgets = known(table, ask);
  EXPECT_THAT(budgets, ElementsAre(3, 10));
  std::vector<float> scores(10);
  std::iota(scores.begin(), scores.end(), 1.0f);
  scores[0] = kNeverEvict;
  EXPECT_THAT(kept(scores, budgets[0]), ElementsAre(0, 8, 9));
}

TEST(HeadSplit, the_longer_of_both_recent_parts_counts) {
  const HeadBudgets table = table_of({{0.9, 0.1}});
  const std::string both = "{\"recent\": 150, \"recent_share\": 0.2}";
  EXPECT_THAT(known(table, {.keep = 0.61, .params = both}), ElementsAre(1000, 220));
  EXPECT_THAT(known(table, {.n_tokens = 500, .keep = 0.67, .params = both}), ElementsAre(500, 170));
}

TEST(HeadSplit, the_lane_at_the_boundary_gets_what_is_left) {
  const HeadBudgets table = table_of({{0.1, 0.9, 0.5}});
  const std::string recent = "{\"recent\": 80}";
  EXPECT_THAT(known(table, {.keep = 0.5, .params = recent}), ElementsAre(100, 1000, 400));
  EXPECT_THAT(known(table, {.keep = 0.2, .params = recent}), ElementsAre(100, 400, 100));
  EXPECT_THAT(known(table, {.keep = 0.9, .params = recent}), ElementsAre(700, 1000, 1000));
  EXPECT_THAT(known(table, {.keep = 1, .params = recent}), Each(1000));
}

TEST(HeadSplit, where_the_total_is_small_all_have_the_same_shorter_recent_part) {
  const HeadBudgets table = table_of({{0.1, 0.9, 0.5}});
  EXPECT_THAT(known(table, {.keep = 0.1, .params = "{\"recent\": 80}"}), Each(100));
  EXPECT_THAT(known(table, {.keep = 0.05, .params = "{\"recent\": 80}"}), Each(50));
  EXPECT_THAT(known(table, {.n_tokens = 100, .keep = 0.55, .params = "{\"recent\": 80}"}),
              Each(55));
  EXPECT_THAT(known(table, {.keep = 0.05, .n_protected = 70}), Each(70)) << "protected is more";
}

// Which of those that are whole in one row remembers more another row says: in what order they are
// filled up must not hang on the lanes' order where a table knows better.
TEST(HeadSplit, all_rows_of_a_table_say_which_lanes_come_first) {
  const HeadBudgets table = table_of({{0, 0, 1, 0}, {0, 1, 1, 0}, {1, 1, 1, 0}});
  EXPECT_THAT(known(table, {.keep = 0.265}), ElementsAre(20, 20, 1000, 20));
  EXPECT_THAT(known(table, {.keep = 0.51}), ElementsAre(20, 1000, 1000, 20));
}

TEST(HeadSplit, without_a_table_all_lanes_are_alike) {
  const auto allocator = make<Allocator>(StageKind::allocator, "head_split", "{\"recent\": 2}");
  EXPECT_TRUE(allocator->needs_head_budgets());
  const TokenSpan span{.n_layers = 2, .n_lanes = 4, .n_tokens = 100, .keep = 0.3};
  Budgets budgets = {7, 7, 7, 7}, totals(2);
  EXPECT_FALSE(allocator->known(span, 0, budgets));
  EXPECT_THAT(budgets, Each(7));
  allocator->totals(span, 0, totals);
  EXPECT_THAT(totals, Each(60));
  EXPECT_THAT(budgets_of(*allocator, {{9, 8, 7, 6}, {1, 2, 3, 4}}, 4), Each(2));
}

Budgets drawn(Rng& rng, std::size_t n, std::size_t below) {
  Budgets out(n);
  for (std::size_t& x : out) x = rng.next() % below;
  return out;
}

// What was known before a text was read is what each layer's lanes get when they are asked.
TEST(HeadSplit, lanes_and_totals_give_what_was_known_before) {
  Rng rng(4);
  for (std::size_t round = 0; round < 300; ++round) {
    const std::size_t n_layers = 1 + rng.next() % 5, of_layer = 1 + rng.next() % 4;
    const std::size_t n = 1 + rng.next() % 200, n_lanes = n_layers * of_layer;
    std::vector<double> shares;
    for (const std::size_t x : drawn(rng, n_lanes, 6)) shares.push_back(double(x) / 5);
    const HeadBudgets table = table_of({shares});
    const Ask ask{.n_tokens = n,
                  .keep = double(1 + rng.next() % 100) / 100,
                  .n_protected = rng.next() % 60,
                  .params = "{\"recent\": " + std::to_string(rng.next() % 80) + "}",
                  .n_layers = n_layers};
    const Budgets budgets = known(table, ask);
    TokenSpan span = span_of(table, ask);
    const std::size_t least = std::min(n, ask.n_protected);
    ASSERT_EQ(std::accumulate(budgets.begin(), budgets.end(), std::size_t{0}),
              std::max(keep_total(span), least * n_lanes));
    const auto allocator = make<Allocator>(StageKind::allocator, "head_split", ask.params);
    Budgets totals(n_layers);
    allocator->totals(span, ask.n_protected, totals);
    std::vector<float> scores(n, 1);
    std::fill_n(scores.begin(), least, kNeverEvict);
    const std::vector<LaneScores> lanes(of_layer, scores);
    for (std::size_t layer = 0; layer < n_layers; ++layer) {
      span.first_lane = layer * of_layer;
      Budgets of_lanes(of_layer);
      allocator->lanes(span, lanes, totals[layer], of_lanes);
      ASSERT_THAT(of_lanes, ElementsAreArray(budgets.data() + span.first_lane, of_layer)) << round;
    }
  }
}

TEST(HeadSplit, lanes_get_no_more_than_they_hold_and_no_less_than_they_protect) {
  Rng rng(6);
  for (std::size_t round = 0; round < 300; ++round) {
    const std::size_t n_lanes = 1 + rng.next() % 6, n = 1 + rng.next() % 40;
    std::vector<double> shares;
    for (const std::size_t x : drawn(rng, n_lanes, 6)) shares.push_back(double(x) / 5);
    const HeadBudgets table = table_of({shares});
    std::vector<std::vector<float>> scores(n_lanes, std::vector<float>(n, 1));
    std::vector<LaneScores> lanes;
    std::size_t least = 0, most = 0;
    for (std::vector<float>& lane : scores) {
      for (float& score : lane)
        if (const std::uint64_t kind = rng.next() % 8; kind < 2)
          score = kind == 0 ? kNeverEvict : kNotThere;
      lanes.push_back(lane);
      least += lane_range(lanes.back()).least;
      most += lane_range(lanes.back()).most;
    }
    const auto allocator =
        make<Allocator>(StageKind::allocator, "head_split", "{\"recent_share\": 0.2}");
    for (const std::size_t total : {std::size_t{0}, least, (least + most) / 2, most, most + 3}) {
      Budgets budgets(n_lanes);
      allocator->lanes(span_of(table, {.n_tokens = n}), lanes, total, budgets);
      ASSERT_EQ(std::accumulate(budgets.begin(), budgets.end(), std::size_t{0}),
                std::min(most, std::max(total, least)));
      for (std::size_t i = 0; i < n_lanes; ++i) {
        ASSERT_GE(budgets[i], lane_range(lanes[i]).least);
        ASSERT_LE(budgets[i], lane_range(lanes[i]).most);
      }
    }
  }
}

// --- recipes -------------------------------------------------------------------------------------

// Lanes 1 and 2 of four remember; lane 2 is the first of the second layer.
CacheDriver driver_of(const std::string& recipe, double keep) {
  CacheDriver driver({.recipe = recipe, .keep = keep, .n_layers = 2, .n_heads = 4, .head_dim = 32});
  driver.cache().set_head_budgets(std::make_shared<HeadBudgets>(table_of({{0.1, 0.7, 0.9, 0.2}})));
  return driver;
}
std::vector<std::int32_t> ends(std::int32_t n_first, std::int32_t n_last, std::int32_t n) {
  std::vector<std::int32_t> positions(static_cast<std::size_t>(n_first + n_last));
  std::iota(positions.begin(), positions.begin() + n_first, 0);
  std::iota(positions.begin() + n_first, positions.end(), n - n_last);
  return positions;
}

// As a document, which is decided while it is read, and as a message, when its turn has ended.
TEST(HeadSplit, duoattention_streams_in_the_lanes_that_do_not_retrieve) {
  for (const SegmentKind kind : {SegmentKind::document, SegmentKind::message}) {
    CacheDriver driver = driver_of("duoattention", (1 + 0.64) / 2);
    ASSERT_TRUE(driver.read(500, {.kind = kind}).ok());
    ASSERT_TRUE(driver.cache().compactor().end_turn().ok());
    const auto kept = driver.all_kept();
    EXPECT_EQ(kept[0], ends(64, 256, 500));
    EXPECT_THAT(kept[1], SizeIs(500));
    EXPECT_THAT(kept[2], SizeIs(500));
    EXPECT_EQ(kept[3], ends(64, 256, 500));
  }
}

// Du3: what is no longer than sinks and window together stays whole.
TEST(HeadSplit, duoattention_leaves_a_text_that_fits_its_window_alone) {
  CacheDriver driver = driver_of("duoattention", 0);
  ASSERT_TRUE(driver.read(320).ok());
  EXPECT_THAT(driver.all_kept(), Each(SizeIs(320)));
}

TEST(HeadSplit, razorattention_keeps_a_fifth_in_the_lanes_that_do_not_retrieve) {
  CacheDriver driver = driver_of("razorattention", (1 + 0.24) / 2);
  ASSERT_TRUE(driver.read(500).ok());
  const auto kept = driver.all_kept();
  EXPECT_EQ(kept[0], ends(4, 116, 500));
  EXPECT_THAT(kept[1], SizeIs(500));
  EXPECT_THAT(kept[2], SizeIs(500));
  EXPECT_EQ(kept[3], ends(4, 116, 500));
}

// Hk1, Hk2: arXiv:2410.19258. (b - b / beta) + pi · (b / beta) · heads, of 200 tokens, as the rule
// "headkv" writes them down (tests/unit/eval/lane_rule_parts_test.cpp), and between its rows.
TEST(HeadSplit, lane_table_gives_headkvs_budgets) {
  const auto budgets = [](std::vector<double> shares, double keep) {
    const HeadBudgets table{
        .model = "", .name = "", .source = "", .rows = {{.keep = 0.5, .shares = shares}}};
    Budgets out(2);
    const TokenSpan span{
        .n_layers = 1, .n_lanes = 2, .n_tokens = 200, .keep = keep, .head_budgets = &table};
    EXPECT_TRUE(make<Allocator>(StageKind::allocator, "lane_table")->known(span, 0, out));
    return out;
  };
  EXPECT_THAT(budgets({125.0 / 200, 75.0 / 200}, 0.5), ElementsAre(125, 75));
  EXPECT_THAT(budgets({125.0 / 200, 75.0 / 200}, 0.2), ElementsAre(50, 30));
  EXPECT_THAT(budgets({0.5, 0.5}, 0.5), ElementsAre(100, 100));
}

}  // namespace
}  // namespace satchel::kvcache
