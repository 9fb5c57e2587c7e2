// The arithmetic of each rule by which lanes are found, by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <set>

#include "app/eval/lane_rules/attention_rule.h"
#include "app/eval/lane_rules/rules.h"
#include "unit/runtime/session_fixture.h"

namespace satchel::eval {
namespace {

using namespace runtime;  // what tests share

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using Values = std::vector<double>;

// --- whole lanes
// ----------------------------------------------------------------------------------

TEST(WholeByWorth, lanes_are_whole_in_the_order_of_their_worth_until_the_total_is_spent) {
  const Values shares = whole_by_importance(Values{1, 4, 2, 3}, 0.5);
  const double least = 20.0 / 1300;
  EXPECT_EQ(shares[1], 1);
  EXPECT_DOUBLE_EQ(shares[3], 1 - 2 * least) << "what is left";
  EXPECT_EQ(shares[0], least);
  EXPECT_EQ(shares[2], least);
  EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 0.5 * 4, 1e-12);
}

TEST(WholeByWorth, the_lower_lane_goes_first_among_equals) {
  const Values shares = whole_by_importance(Values{1, 1, 1, 1}, 0.5);
  EXPECT_GT(shares[0], shares[1]);
  EXPECT_GT(shares[1], shares[2]);
  EXPECT_EQ(shares[2], shares[3]);
}

TEST(WholeByWorth, less_than_what_every_lane_keeps_gives_every_lane_that) {
  EXPECT_THAT(whole_by_importance(Values{3, 2, 1}, 0.001), Each(20.0 / 1300));
  EXPECT_THAT(whole_by_importance(Values{3, 2, 1}, 1), Each(testing::DoubleEq(1)));
}

// --- razor
// ----------------------------------------------------------------------------------------

// 100 heads: the best by echo is no. 70, the best 14 by induction are no. 20 to 33.
struct RazorHeads {
  Values echo = Values(100), induction = Values(100);
  RazorHeads() {
    for (std::size_t i = 0; i < 100; ++i) {
      echo[i] = i == 70 ? 0.9 : 0.001 * double(i % 50);
      induction[i] = i >= 20 && i < 34 ? 0.5 + 0.01 * double(i) : 0.001 * double(i % 20);
    }
  }
};

TEST(Razor, the_papers_heads_are_the_union_of_both_tops) {
  const RazorHeads heads;
  const Values importances = razor_importances(heads.echo, heads.induction);
  for (std::size_t i = 0; i < 100; ++i)
    EXPECT_EQ(importances[i] > 1, i == 70 || (i >= 20 && i < 34)) << i;
  // As a table: 15 whole lanes, the rest with the least.
  const double least = 20.0 / 1300, keep = 0.15 + 0.85 * least;
  const Values shares = whole_by_importance(importances, keep);
  for (std::size_t i = 0; i < 100; ++i)
    EXPECT_NEAR(shares[i], i == 70 || (i >= 20 && i < 34) ? 1 : least, 1e-9) << i;
}

TEST(Razor, a_head_in_both_tops_counts_once_and_equals_go_to_the_lower_head) {
  Values echo(200), induction(200);
  induction[7] = echo[7] = 1;
  const Values importances = razor_importances(echo, induction);
  EXPECT_EQ(std::ranges::max_element(importances) - importances.begin(), 7);
  EXPECT_EQ(importances[0], 28) << "second by induction: the lower of 199 equals";
  EXPECT_GT(importances[0], importances[1]);
  EXPECT_EQ(std::ranges::count_if(importances, [](double importance) { return importance > 1; }),
            28)
      << "no. 7 and the 27 first others, of which no. 0 is second by echo too";
}

TEST(Razor, of_few_heads_the_best_by_echo_is_one_of_the_papers_too) {
  Values echo(20), induction(20);
  echo[9] = induction[3] = induction[4] = induction[5] = 1;
  const Values importances = razor_importances(echo, induction);  // 0.2 and 2.8 heads
  for (std::size_t i = 0; i < 20; ++i)
    EXPECT_EQ(importances[i] > 1, i == 9 || (i >= 3 && i <= 5)) << i;
}

// One head, whose token `to` gets exp(logits[to]) whoever looks.
struct OneHead {
  kvcache::LayerShape shape;
  SeenLayer layer{.shape = shape};
  explicit OneHead(std::vector<float> logits) {
    shape.n_heads = shape.n_kv_heads = shape.head_dim = 1;
    shape.attention_scale = 1;
    layer.n_tokens = logits.size();
    layer.q.assign(logits.size(), 1);
    layer.lse.assign(logits.size(), 0);
    layer.k = std::move(logits);
  }
};

TEST(Razor, echo_looks_at_where_the_token_stood_and_induction_behind_it) {
  // A bos, then two tokens said twice: the tokens at 3 and 4 stood at 1 and 2.
  const OneHead seen({0, std::log(.1f), std::log(.2f), std::log(.5f), std::log(.7f)});
  const RazorScores scores = razor_scores(seen.layer, 0, 1, 2);
  EXPECT_NEAR(scores.echo, (.1 + .2) / 2, 1e-6);
  EXPECT_NEAR(scores.induction, (.2 + .5) / 2, 1e-6);
}

TEST(Razor, tokens_are_ordinary_text_no_two_alike_and_always_the_same) {
  const Tokenizer& tokenizer = shared_engine().tokenizer();
  const auto ids = razor_tokens(tokenizer, 400);
  ASSERT_EQ(ids.size(), 400u);
  EXPECT_EQ(std::set<std::int32_t>(ids.begin(), ids.end()).size(), 400u);
  EXPECT_EQ(razor_tokens(tokenizer, 400), ids);
  EXPECT_FALSE(std::ranges::is_sorted(ids));
  for (const std::int32_t id : ids) {
    std::string piece;
    tokenizer.append_piece(id, piece);
    EXPECT_FALSE(piece.empty());
    for (const char c : piece) EXPECT_TRUE(c >= ' ' && c <= '~') << piece;
  }
  EXPECT_LE(razor_tokens(tokenizer, 1u << 20).size(), tokenizer.size());
}

// --- headkv
// ---------------------------------------------------------------------------------------

TEST(HeadKv, budgets_are_a_fixed_part_and_one_by_worth) {
  EXPECT_THAT(headkv_budgets(Values{.75, .25}, 100, 2), ElementsAre(125, 75));
  EXPECT_THAT(headkv_budgets(Values{3, 1}, 100, 2), ElementsAre(125, 75)) << "over their sum";
  const Values even = headkv_budgets(Values{.9, .1, 0}, 100, 1e9);
  for (const double budget : even) EXPECT_NEAR(budget, 100, 1e-5) << "a large beta: uniform";
}

TEST(HeadKv, each_step_of_an_answer_points_to_the_same_token_in_the_text) {
  const Tokenizer& tokenizer = shared_engine().tokenizer();
  const NeedleContext made{
      .parts =
          {"Ada keeps the map in the attic. The attic is cold. A man called Carl Corwin left."},
      .needles = {{.ask = "\n\nThe full name of Carl is Carl", .values = {"Corwin"}},
                  {.ask = "\n\nAda keeps the map in the", .values = {"attic"}}}};
  const AnsweredText text = value_of(headkv_text(tokenizer, made));
  const std::size_t n_corwin = value_of(tokenizer.encode(" Corwin", SpecialText::as_text)).size();
  ASSERT_GT(text.steps.size(), n_corwin - 1);
  std::string copied;
  std::size_t last = 0;
  for (const AnswerStep& step : text.steps) {
    EXPECT_EQ(text.ids[step.from + 1], text.ids[step.to]);
    EXPECT_GT(step.from, step.to);
    EXPECT_GE(step.from, last) << "in the order of the answers";
    last = step.from;
    tokenizer.append_piece(text.ids[step.to], copied);
  }
  EXPECT_EQ(copied, " Corwin attic");
  // The attic of the fact, not the cold one.
  const std::size_t at = text.steps.back().to;
  EXPECT_EQ(tokenizer.text(std::span(text.ids).first(at + 1)), "Ada keeps the map in the attic");
}

TEST(HeadKv, a_hit_is_the_first_of_what_is_seen_most) {
  const OneHead seen({1, 3, 2, 3, 9});
  const auto hits = [&](std::vector<AnswerStep> steps) {
    return headkv_hits(seen.layer, 0, steps);
  };
  EXPECT_EQ(hits({{.from = 3, .to = 1}}), 1) << "what comes later is not seen";
  EXPECT_EQ(hits({{.from = 3, .to = 3}}), 0) << "an equal one came before";
  EXPECT_EQ(hits({{.from = 3, .to = 1}, {.from = 2, .to = 2}, {.from = 4, .to = 4}, {0, 1}}), 0.5);
}

TEST(HeadKv, a_text_without_the_answer_is_refused) {
  const NeedleContext made{.parts = {"Nothing."}, .needles = {{.ask = "Who? ", .values = {"Ada"}}}};
  const auto text = headkv_text(shared_engine().tokenizer(), made);
  ASSERT_FALSE(text.ok());
  EXPECT_THAT(text.error().message, HasSubstr("\"Ada\""));
}

// --- duo
// ------------------------------------------------------------------------------------------

kvcache::LayerShape one_pair(kernels::RopePairs pairs) {
  kvcache::LayerShape layer;
  layer.n_heads = layer.n_kv_heads = 1;
  layer.head_dim = 2;
  layer.attention_scale = 2;
  layer.rope_pairs = pairs;
  layer.inverse_frequency = {1};
  return layer;
}

TEST(Duo, two_tokens_by_hand) {
  const double far = std::exp(2 * std::cos(1.0)), near = std::exp(2.0);
  const double first = far / (far + near);
  for (const auto pairs : {kernels::RopePairs::adjacent, kernels::RopePairs::halves})
    EXPECT_NEAR(duo_early_part(one_pair(pairs), Values{1, 0}, Values{1, 0}, 2), (first + 1) / 2,
                1e-12);
  // A key a quarter turn ahead: the query, one place on, has turned towards the key behind it.
  const double ahead = std::exp(2 * std::sin(1.0)), here = std::exp(0.0);
  EXPECT_NEAR(duo_early_part(one_pair(kernels::RopePairs::halves), Values{1, 0}, Values{0, 1}, 2),
              (ahead / (ahead + here) + 1) / 2, 1e-12);
}

TEST(Duo, what_position_does_not_turn_looks_everywhere_alike) {
  kvcache::LayerShape layer = one_pair(kernels::RopePairs::halves);
  layer.head_dim = 4;  // two values beside the pair
  const Values query = {0, 0, 3, 1}, key = {0, 0, 2, 5};
  EXPECT_NEAR(duo_early_part(layer, query, key, 500), 501.0 / 1000, 1e-12);
}

TEST(Duo, a_lanes_part_is_that_of_mean_query_and_key_the_mean_of_its_heads) {
  kvcache::LayerShape shape = one_pair(kernels::RopePairs::halves);
  shape.n_heads = 2;
  SeenLayer layer{.shape = shape};
  layer.n_tokens = 2;
  layer.pre_rope_q = {1, 0, 0, 4, 3, 0, 0, 0};  // means (2, 0) and (0, 2)
  layer.pre_rope_k = {1, 1, 1, -1};             // mean (1, 0)
  const double a = duo_early_part(shape, Values{2, 0}, Values{1, 0}, 500);
  const double b = duo_early_part(shape, Values{0, 2}, Values{1, 0}, 500);
  EXPECT_GT(std::abs(a - b), 1e-6);
  EXPECT_NEAR(duo_lane_part(layer, 0), (a + b) / 2, 1e-12);
}

}  // namespace
}  // namespace satchel::eval
