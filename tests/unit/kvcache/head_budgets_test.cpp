// Head budgets: between their rows, as files, and the budgets that lane_table makes of them.
#include "kvcache/profile/head_budgets.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/kvcache/stage_fixture.h"

namespace satchel::kvcache {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

HeadBudgets two_rows() {
  return {.model = "fp",
          .name = "a \"model\"",
          .source = "by hand",
          .rows = {{.keep = 0.25, .shares = {0.5, 0.1}}, {.keep = 0.5, .shares = {0.8, 0.2}}}};
}
std::vector<double> at(double keep) {
  std::vector<double> shares(2);
  two_rows().at(keep, shares);
  return shares;
}

TEST(HeadBudgets, are_linear_between_rows_towards_nothing_below_and_towards_all_above) {
  EXPECT_THAT(at(0.25), Pointwise(DoubleNear(1e-12), {0.5, 0.1}));
  EXPECT_THAT(at(0.5), Pointwise(DoubleNear(1e-12), {0.8, 0.2}));
  EXPECT_THAT(at(0.375), Pointwise(DoubleNear(1e-12), {0.65, 0.15}));
  EXPECT_THAT(at(0.3), Pointwise(DoubleNear(1e-12), {0.56, 0.12}));
  EXPECT_THAT(at(0.125), Pointwise(DoubleNear(1e-12), {0.25, 0.05}));
  EXPECT_THAT(at(0), Pointwise(DoubleNear(1e-12), {0, 0}));
  EXPECT_THAT(at(0.75), Pointwise(DoubleNear(1e-12), {0.9, 0.6}));
  EXPECT_THAT(at(1), Pointwise(DoubleNear(1e-12), {1, 1}));
}

TEST(HeadBudgets, are_the_same_after_a_file) {
  const HeadBudgets before = two_rows();
  const Result<HeadBudgets> after = HeadBudgets::parse(before.json(), "t.json");
  ASSERT_TRUE(after.ok()) << after.error().message;
  EXPECT_EQ(after->model, before.model);
  EXPECT_EQ(after->name, before.name);
  EXPECT_EQ(after->source, before.source);
  ASSERT_EQ(after->rows.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(after->rows[i].keep, before.rows[i].keep);
    EXPECT_EQ(after->rows[i].shares, before.rows[i].shares);
  }
  EXPECT_FALSE(after->importance);
  EXPECT_EQ(after->json(), before.json());
}

TEST(HeadBudgets, keep_what_keys_are_worth_to_six_digits) {
  HeadBudgets before = two_rows();
  before.importance = KeyImportance{
      .agreement = 0.71, .lanes = {{-3.14159265f, 1.5e-7f, -12345.678f}, {0, 1, 2, 3, 4}}};
  const Result<HeadBudgets> after = HeadBudgets::parse(before.json(), "t.json");
  ASSERT_TRUE(after.ok()) << after.error().message;
  ASSERT_TRUE(after->importance);
  EXPECT_EQ(after->importance->agreement, 0.71);
  ASSERT_EQ(after->importance->lanes.size(), 2u);
  EXPECT_THAT(after->importance->lanes[0], ElementsAre(-3.14159f, 1.5e-7f, -12345.7f));
  EXPECT_EQ(after->importance->lanes[1], before.importance->lanes[1]);
  EXPECT_EQ(after->json(), before.json());
}

TEST(HeadBudgets, of_a_file_are_refused_with_the_line_and_what_would_be_right) {
  const std::string head = "{ \"lane_shares\": 2,\n\"model\": \"m\",\n\"name\": \"n\",\n";
  const std::string rows = head + "\"source\": \"s\",\n\"rows\": ";
  const std::string importance = rows + "[ { \"keep\": 0.5, \"lanes\": [0] } ],\n\"worth\": ";
  const std::pair<std::string, std::string> cases[] = {
      {"", "t.json line 1"},
      {"[]", "t.json line 1: \"lane_shares\" is missing"},
      {"{\n\"lane_shares\": 1 }", "t.json line 2: \"lane_shares\" must be 2"},
      {"{\n\"lane_shares\": \"2\" }",
       "t.json line 2: \"lane_shares\" is missing or has the wrong type"},
      {"{ \"lane_shares\": 2,\n\"model\": 7 }",
       "t.json line 2: \"model\" is missing or has the wrong type"},
      {head + "\"rows\": [] }", "t.json line 1: \"source\" is missing"},
      {rows + "7 }", "t.json line 5: \"rows\" is missing or has the wrong type"},
      {rows + "[] }", "t.json line 5: \"rows\" needs at least one row"},
      {rows + "[ { \"keep\": 0.5, \"lanes\": [] } ] }",
       "t.json line 5: \"rows\" needs at least one row"},
      {rows + "[\n7 ] }", "t.json line 6: \"keep\" is missing"},
      {rows + "[\n{ \"lanes\": [0] } ] }", "t.json line 6: \"keep\" is missing"},
      {rows + "[\n{\n\"keep\": 1, \"lanes\": [0] } ] }",
       "t.json line 7: \"keep\" must be above 0 and below 1"},
      {rows + "[\n{ \"keep\": 0, \"lanes\": [0] } ] }", "t.json line 6: \"keep\" must be above 0"},
      {rows + "[\n{ \"keep\": 0.5 } ] }", "t.json line 6: \"lanes\" is missing"},
      {rows + "[\n{ \"keep\": 0.5, \"lanes\": [0,\n1.1] } ] }",
       "t.json line 7: a lane's budget must be from 0 to 1"},
      {rows + "[\n{ \"keep\": 0.5, \"lanes\": [0,\n-0.1] } ] }", "t.json line 7: a lane's budget"},
      {rows + "[\n{ \"keep\": 0.5, \"lanes\": [0,\n\"1\"] } ] }", "t.json line 7: a lane's budget"},
      {rows + "[\n{ \"keep\": 0.5, \"lanes\": [0] },\n{ \"keep\": 0.5, \"lanes\": [0] } ] }",
       "t.json line 7: rows must be sorted by \"keep\" and have the same number of lanes"},
      {rows + "[\n{ \"keep\": 0.5, \"lanes\": [0] },\n{ \"keep\": 0.6, \"lanes\": [0, 1] } ] }",
       "t.json line 7: rows must be sorted by \"keep\" and have the same number of lanes"},
      {importance + "7 }", "t.json line 6: \"worth\" is missing or has the wrong type"},
      {importance + "{} }", "t.json line 6: \"agreement\" is missing"},
      {importance + "{ \"agreement\": 1.5 } }", "line 6: \"agreement\" must be from -1 to 1"},
      {importance + "{ \"agreement\": 0.5 } }", "line 6: \"lanes\" is missing"},
      {importance + "{ \"agreement\": 0.5, \"lanes\": [] } }",
       "line 6: \"worth\" must have as many lanes as each row"},
      {importance + "{ \"agreement\": 0.5, \"lanes\": [\n[1, 2]] } }",
       "line 7: a lane needs one weight, and two more for each value"},
      {importance + "{ \"agreement\": 0.5, \"lanes\": [[1]] } }", "line 6: a lane needs one"},
      {importance + "{ \"agreement\": 0.5, \"lanes\": [[1, 2,\n\"3\"]] } }",
       "line 7: a weight must be a number from -1e6 to 1e6"},
      {importance + "{ \"agreement\": 0.5, \"lanes\": [[1, 2, 1e7]] } }",
       "line 6: a weight must be"},
  };
  for (const auto& [json, expected] : cases) {
    const Result<HeadBudgets> table = HeadBudgets::parse(json, "t.json");
    ASSERT_FALSE(table.ok()) << json;
    EXPECT_EQ(table.error().kind, ErrorKind::corrupt);
    EXPECT_EQ(table.error().code, "LANE_SHARES");
    EXPECT_THAT(table.error().message, HasSubstr(expected)) << json;
  }
}

// --- lane_table ----------------------------------------------------------------------------------

TokenSpan span_of(const HeadBudgets* table, std::size_t n_lanes, double keep) {
  return {.n_layers = 1, .n_lanes = n_lanes, .n_tokens = 100, .keep = keep, .head_budgets = table};
}
HeadBudgets row(std::vector<double> shares) {
  return {.model = "", .name = "", .source = "", .rows = {{.keep = 0.5, .shares = shares}}};
}
std::vector<std::size_t> known(const HeadBudgets& table, std::size_t n_protected,
                               double keep = 0.5) {
  std::vector<std::size_t> budgets(table.n_lanes());
  const auto allocator = make<Allocator>(StageKind::allocator, "lane_table");
  EXPECT_TRUE(allocator->needs_head_budgets());
  EXPECT_TRUE(allocator->known(span_of(&table, table.n_lanes(), keep), n_protected, budgets));
  return budgets;
}

TEST(LaneTableAllocator, gives_the_tables_shares_where_they_meet_the_sum) {
  EXPECT_THAT(known(row({1, 0.4, 0.1}), 0), ElementsAre(100, 40, 10));
  // Half of each: 75 of 150, shares of 100 tokens 50, 20, 5.
  EXPECT_THAT(known(row({1, 0.4, 0.1}), 0, 0.25), ElementsAre(50, 20, 5));
}

// 0.9286 of 100 and of 40 beside 20, together 150: 92.86 and 37.14.
TEST(LaneTableAllocator, takes_what_is_protected_from_the_others_in_proportion) {
  EXPECT_THAT(known(row({1, 0.4, 0.1}), 20), ElementsAre(93, 37, 20));
}

// 50 beside the 100 of a full lane, shared 2 : 1.
TEST(LaneTableAllocator, gives_what_a_full_lane_cannot_hold_to_the_others_in_proportion) {
  EXPECT_THAT(known(row({1, 0.2, 0.1}), 0), ElementsAre(100, 33, 17));
}

TEST(LaneTableAllocator, gives_lanes_without_a_share_what_is_left_when_all_others_are_full) {
  EXPECT_THAT(known(row({1, 0, 0}), 0), ElementsAre(100, 25, 25));
  EXPECT_THAT(known(row({0, 0, 0}), 7), ElementsAre(50, 50, 50));
}

TEST(LaneTableAllocator, gives_what_is_protected_even_where_that_is_more_than_the_share) {
  EXPECT_THAT(known(row({1, 0.4, 0.1}), 60), ElementsAre(60, 60, 60));
  EXPECT_THAT(known(row({1, 0.4, 0.1}), 500), ElementsAre(100, 100, 100));
}

TEST(LaneTableAllocator, meets_every_sum_within_what_lanes_protect_and_hold) {
  const HeadBudgets table = row({0.93, 0.07, 0.5, 0.011, 0.3});
  for (int percent = 1; percent < 100; ++percent)
    for (const std::size_t least : {0u, 4u, 20u, 100u}) {
      const double keep = percent / 100.0;
      const auto budgets = known(table, least, keep);
      std::size_t sum = 0;
      for (const std::size_t budget : budgets) {
        ASSERT_GE(budget, least) << percent;
        ASSERT_LE(budget, 100u) << percent;
        sum += budget;
      }
      ASSERT_EQ(sum, std::max(static_cast<std::size_t>(5 * percent), 5 * least)) << percent;
    }
}

// What lanes protect and hold by then, not what they would have.
TEST(LaneTableAllocator, decides_by_the_table_whatever_the_scores_say) {
  const HeadBudgets table = row({0.8, 0.2});
  std::vector<float> low(100, 0.1f), high(100, 9.0f);
  std::fill_n(high.begin(), 30, kNeverEvict);
  std::fill_n(low.begin(), 40, kNotThere);
  const std::vector<LaneScores> lanes = {low, high};
  std::vector<std::size_t> budgets(2);
  const auto allocator = make<Allocator>(StageKind::allocator, "lane_table");
  allocator->lanes(span_of(&table, 2, 0.5), lanes, 100, budgets);
  EXPECT_THAT(budgets, ElementsAre(60, 40));  // 60 are all that the first lane holds
  allocator->lanes(span_of(&table, 2, 0.5), lanes, 70, budgets);
  EXPECT_THAT(budgets, ElementsAre(40, 30));  // 30 are all that the second protects
}

TEST(LaneTableAllocator, without_a_table_lets_the_tokens_of_all_lanes_compete) {
  const auto allocator = make<Allocator>(StageKind::allocator, "lane_table");
  std::vector<std::size_t> budgets = {7, 7};
  EXPECT_FALSE(allocator->known(span_of(nullptr, 2, 0.5), 0, budgets));
  EXPECT_THAT(budgets, ElementsAre(7, 7));
  const std::vector<std::vector<float>> lanes = {{9, 1, 8, 7}, {2, 6, 3, 0}};
  EXPECT_THAT(budgets_of(*allocator, lanes, 4), ElementsAre(3, 1));
}

}  // namespace
}  // namespace satchel::kvcache
