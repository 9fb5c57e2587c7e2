// Attention-Gate (arXiv:2410.12876) against plain loops with made-up weights, and what its
// threshold leaves of a text. Ag1 and Ag2: the golden cases of the project's method notes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <vector>

#include "kernels/base/half.h"
#include "support/selector.h"
#include "unit/kvcache/cache_driver.h"
#include "unit/kvcache/lane_table_recipe.h"
#include "unit/kvcache/stage_fixture.h"

namespace satchel::kvcache {
namespace {

using test::SelectorMethod;
using testing::HasSubstr;

constexpr std::size_t kText = 300, kDim = 32, kLayers = 2, kGate = 8;
constexpr std::int32_t kTail = 16;

CacheShape small_shape() {
  return {.layers = {kLayers, {.n_heads = 4, .n_kv_heads = 2, .head_dim = kDim}}};
}

CacheDriver driver_of(const std::string& recipe, std::optional<SelectorSet> selectors, double keep,
                      std::size_t n_layers = kLayers) {
  return CacheDriver({.recipe = recipe,
                      .keep = keep,
                      .n_layers = n_layers,
                      .n_heads = 4,
                      .head_dim = kDim,
                      .selectors = std::move(selectors)});
}
// Its scores wait until somebody asks.
CacheDriver waiting() {
  return driver_of(lane_table_recipe(kWaits, R"({ "use": "attention_gate" })"),
                   test::selectors_of(small_shape()), 0);
}

// Of all tokens, as the driver made them up: how open the gates of a layer's heads are.
// [n_kv_heads][n_tokens]
std::vector<std::vector<double>> gates_of(CacheDriver& driver, std::size_t layer) {
  const auto& gate = std::get<SelectorWeights::AttentionGate>(
      driver.shape().selectors.of(SelectorMethod::attention_gate)->layers[layer]);
  const std::size_t width = gate.q.n_rows(), n_heads = gate.out.n_rows(), dim = width / n_heads;
  std::vector<std::vector<double>> q, k, v;
  for (std::size_t t = 0; t < kText; ++t) {
    std::vector<float> x = driver.q(layer, t);
    for (const float each : driver.k(layer, t)) x.push_back(each);
    for (const float each : driver.v(layer, t)) x.push_back(half_to_float(float_to_half(each)));
    for (const auto& [weights, to] :
         {std::pair(&gate.q, &q), std::pair(&gate.k, &k), std::pair(&gate.v, &v)}) {
      std::vector<double>& row = to->emplace_back(width);
      for (std::size_t i = 0; i < width; ++i)
        for (std::size_t c = 0; c < x.size(); ++c)
          row[i] += double{weights->values[i * x.size() + c]} * double{x[c]};
    }
  }
  std::vector<std::vector<double>> open(n_heads, std::vector<double>(kText));
  for (std::size_t t = 0; t < kText; ++t) {
    std::vector<double> attended(width);
    for (std::size_t head = 0; head < n_heads; ++head) {
      std::vector<double> weights(kText);
      double sum = 0;
      for (std::size_t j = 0; j < kText; ++j) {
        double logit = 0;
        for (std::size_t c = head * dim; c < (head + 1) * dim; ++c) logit += q[t][c] * k[j][c];
        sum += weights[j] = std::exp(logit / std::sqrt(double(dim)));
      }
      for (std::size_t j = 0; j < kText; ++j)
        for (std::size_t c = head * dim; c < (head + 1) * dim; ++c)
          attended[c] += weights[j] / sum * v[j][c];
    }
    for (std::size_t head = 0; head < n_heads; ++head) {
      double logit = double{gate.bias.values[head]};
      for (std::size_t c = 0; c < width; ++c)
        logit += double{gate.out.values[head * width + c]} * attended[c];
      open[head][t] = 1 / (1 + std::exp(-logit));
    }
  }
  return open;
}

TEST(AttentionGate, gives_each_token_the_paper_s_score_and_the_same_for_any_chunks) {
  std::vector<std::vector<float>> first;
  for (const std::size_t chunk : {kText, std::size_t{129}, std::size_t{7}, std::size_t{1}}) {
    CacheDriver driver = waiting();
    ASSERT_TRUE(driver.read(kText, {.chunk = chunk}).ok());
    for (std::size_t lane = 0; lane < driver.n_lanes(); ++lane) {
      const std::vector<float> scores = driver.cache().inspector().pending_scores(lane).value();
      ASSERT_EQ(scores.size(), kText);
      if (chunk == kText) {
        first.push_back(scores);
        const auto open = gates_of(driver, lane / 2)[lane % 2];
        for (std::size_t t = 0; t < kText; ++t) ASSERT_NEAR(scores[t], open[t], 1e-4) << t;
        const auto [least, most] = std::ranges::minmax(scores);
        EXPECT_GT(most - least, 0.1) << "gates that are all alike would show nothing";
      }
      ASSERT_EQ(scores, first[lane]) << chunk;
    }
  }
}

// What of a lane is to stay: both ends, and what is open.
std::set<std::int32_t> open_beside_ends(const std::vector<double>& open) {
  std::set<std::int32_t> stay;
  for (std::int32_t t = 0; t < std::int32_t{kText}; ++t)
    if (t < std::int32_t{kSinkTokens} || t >= std::int32_t{kText} - kTail ||
        open[static_cast<std::size_t>(t)] >= 0.5)
      stay.insert(t);
  return stay;
}

// How much stays follows from the gates: more in one lane than in another, less than the recipe
// lets stay. Ag2: both ends stay where their gates are closed.
TEST(AttentionGate, evicts_what_is_closed_and_nothing_else_where_there_is_room) {
  CacheDriver driver = driver_of("attention-gate", test::selectors_of(small_shape()), 0.99);
  ASSERT_TRUE(driver.read(kText).ok());
  const auto kept = driver.all_kept();
  std::set<std::size_t> sizes;
  bool has_closed_end = false;
  for (std::size_t lane = 0; lane < kept.size(); ++lane) {
    const auto open = gates_of(driver, lane / 2)[lane % 2];
    EXPECT_EQ(std::set(kept[lane].begin(), kept[lane].end()), open_beside_ends(open)) << lane;
    sizes.insert(kept[lane].size());
    for (std::size_t t = 0; t < kSinkTokens; ++t) has_closed_end = has_closed_end || open[t] < 0.5;
  }
  EXPECT_GT(sizes.size(), 1u);
  EXPECT_LT(*sizes.begin(), kText);
  EXPECT_TRUE(has_closed_end);
}

// The least open goes first, in whichever lane it is.
TEST(AttentionGate, keeps_the_most_open_where_more_is_open_than_may_stay) {
  constexpr double kKeep = 0.2;
  CacheDriver driver = driver_of("attention-gate", test::selectors_of(small_shape()), kKeep);
  ASSERT_TRUE(driver.read(kText).ok());
  const auto kept = driver.all_kept();
  std::size_t n_kept = 0;
  double least_kept = 1, most_gone = 0;
  for (std::size_t lane = 0; lane < kept.size(); ++lane) {
    n_kept += kept[lane].size();
    const auto open = gates_of(driver, lane / 2)[lane % 2];
    const std::set<std::int32_t> stays(kept[lane].begin(), kept[lane].end());
    for (std::size_t t = kSinkTokens; t < kText - kTail; ++t)
      if (stays.contains(static_cast<std::int32_t>(t))) {
        least_kept = std::min(least_kept, open[t]);
      } else {
        most_gone = std::max(most_gone, open[t]);
      }
  }
  EXPECT_EQ(n_kept, static_cast<std::size_t>(kKeep * double(kText * kept.size())));
  EXPECT_GE(least_kept, 0.5);
  EXPECT_GE(least_kept, most_gone - 1e-4);
}

// Ag1, where no more is open than may stay.
TEST(AttentionGate, of_open_gates_evicts_no_more_than_the_recipe_says) {
  CacheDriver driver = driver_of("attention-gate", test::open_selectors_of(small_shape()), 0.5);
  ASSERT_TRUE(driver.read(kText).ok());
  std::size_t n_kept = 0;
  for (const auto& lane : driver.all_kept()) n_kept += lane.size();
  EXPECT_EQ(n_kept, kText / 2 * driver.n_lanes());
}

TEST(AttentionGate, stays_between_0_and_1_where_the_network_overflows) {
  SelectorWeights huge = test::selector_of(SelectorMethod::attention_gate, small_shape());
  for (SelectorWeights::Layer& layer : huge.layers)
    for (auto* tensor : {&std::get<SelectorWeights::AttentionGate>(layer).q,
                         &std::get<SelectorWeights::AttentionGate>(layer).out})
      for (float& x : tensor->values) x *= 1e38f;
  CacheDriver driver =
      driver_of(lane_table_recipe(kWaits, R"({ "use": "attention_gate" })"), test::set_of(huge), 0);
  ASSERT_TRUE(driver.read(kText).ok());
  for (std::size_t lane = 0; lane < driver.n_lanes(); ++lane) {
    const std::vector<float> scores = driver.cache().inspector().pending_scores(lane).value();
    for (const float score : scores) ASSERT_TRUE(score > 0 && score <= 1) << score;
  }
}

TEST(AttentionGate, of_another_size_than_the_recipe_says_is_refused) {
  CacheShape shape = small_shape();
  shape.selectors =
      test::set_of(test::selector_of(SelectorMethod::attention_gate, shape, {.dim = kGate + 1}));
  const auto need = cache_need(shape, Recipe::builtin("attention-gate").value(), 1000);
  ASSERT_FALSE(need.ok());
  EXPECT_EQ(need.error().code, "SELECTOR_WEIGHTS");
  EXPECT_THAT(need.error().message,
              HasSubstr("gates of 9 values, where the recipe says \"dim\": 8"));
}

TEST(ThresholdFilter, takes_out_what_scores_too_little_but_not_what_nothing_was_said_of) {
  std::vector<float> scores = {0.49f, 0.5f, 0, 0.1f, kNeverEvict, kNotThere, 2};
  make<Filter>(StageKind::filter, "threshold")
      ->apply({.n_layers = 1, .n_lanes = 1, .n_tokens = 7}, scores);
  EXPECT_THAT(scores,
              testing::ElementsAre(kNotThere, 0.5f, 0, kNotThere, kNeverEvict, kNotThere, 2));
}

}  // namespace
}  // namespace satchel::kvcache
