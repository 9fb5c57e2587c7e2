// What scorers by attention give the tokens of a prompt, and which they keep, against plain PyTorch
// and kvpress (tests/oracle/make_attention_score_fixtures.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <numeric>
#include <set>

#include "support/source_dir.h"
#include "unit/runtime/session_fixture.h"
#include "unit/runtime/tiny_model.h"

namespace satchel::runtime {
namespace {

using Ids = std::vector<std::int32_t>;
using Scores = std::vector<std::vector<float>>;  // [n_lanes][n_tokens]

struct Fixture {
  Ids tokens;
  std::map<std::string, Scores> scores;
};
Fixture read_fixture() {
  std::ifstream file(test::source_dir() + "/tests/golden/selection/attention_notes_mini.txt");
  Fixture fixture;
  std::string word, what;
  std::size_t n = 0;
  file >> word >> n;
  fixture.tokens.resize(n);
  for (auto& id : fixture.tokens) file >> id;
  while (file >> word >> what >> n) {
    Scores& scores = fixture.scores[what];
    scores.assign(n, std::vector<float>(fixture.tokens.size()));
    for (std::vector<float>& lane : scores)
      for (float& score : lane) file >> score;
  }
  return fixture;
}

// As observe() leaves them: scores wait where a decision does, and second_pass fires only when
// asked.
Scores our_scores(const std::string& scorer, const char* backend, const Ids& ids) {
  TestModel model{open_model(value_of(GgufFile::open(bundled_model())), backend)};
  const std::string recipe = R"({ "recipe": 1, "name": "waits", "source": "a test",
      "differs": "in nothing", "keep": 0.5, "trigger": { "use": "second_pass" }, "scorer": )" +
                             scorer + R"(, "filter": [ { "use": "protect" } ],
      "allocator": { "use": "over_all" }, "assigner": { "use": "top_k" }, "merger": { "use": "none" },
      "codec": { "k": "exact", "v": "exact" }, "reader": { "use": "all" } })";
  auto arena = value_of(kvcache::Arena::open(model.backend, std::size_t{32} << 20));
  const auto cache = value_of(kvcache::Cache::open(std::move(arena), model.config().cache_shape(),
                                                   value_of(kvcache::Recipe::parse(recipe))));
  model.read(*cache, ids);
  Scores scores;
  for (std::size_t i = 0; i < model.config().cache_shape().n_lanes(); ++i)
    scores.push_back(value_of(cache->inspector().pending_scores(i)));
  return scores;
}

std::vector<std::size_t> best(const std::vector<float>& scores, std::size_t n) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  order.resize(n);
  return order;
}

// Of the largest score of a lane. Q8_0 products are rounded otherwise here and there.
constexpr float kTolerance = 4e-3f;

// Kept sets are equal but for tokens that score as much as the last one that is kept.
void expect_same(const Scores& got, const Scores& want, float tolerance) {
  ASSERT_EQ(got.size(), want.size());
  std::size_t n_kept = 0, n_other = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const float most = *std::max_element(want[i].begin(), want[i].end());
    for (std::size_t t = 0; t < got[i].size(); ++t)
      ASSERT_NEAR(got[i][t], want[i][t], tolerance * most) << "lane " << i << " token " << t;
    for (const std::size_t part : {2u, 4u, 10u}) {
      const std::size_t n = got[i].size() / part;
      const std::vector<std::size_t> right = best(want[i], n);
      const float last = want[i][right.back()];
      for (const std::size_t t : best(got[i], n)) {
        ++n_kept;
        if (std::find(right.begin(), right.end(), t) != right.end()) continue;
        ++n_other;
        EXPECT_NEAR(want[i][t], last, 2 * tolerance * most) << "lane " << i << " token " << t;
      }
    }
  }
  EXPECT_LE(n_other, n_kept / 50);
}

class AttentionOracle : public testing::TestWithParam<const char*> {};

TEST_P(AttentionOracle, sums_fade_and_warm_windows_are_those_of_whole_matrices) {
  const Fixture fixture = read_fixture();
  ASSERT_EQ(fixture.tokens.size(), 160u);
  const std::map<std::string, std::string> scorers = {
      {"sum", R"({ "use": "attention_sum" })"},
      {"fading", R"({ "use": "attention_sum", "half_life": 24 })"},
      {"warm", R"({ "use": "tempered_sum", "temperature": 1.5 })"},
      {"window", R"({ "use": "attention_window", "window": 8 })"},
      {"share", R"({ "use": "attention_window", "share": 0.2, "newest": 1.2 })"}};
  for (const auto& [what, scorer] : scorers) {
    SCOPED_TRACE(what);
    Scores got = our_scores(scorer, GetParam(), fixture.tokens);
    if (what == "share") {  // one for a layer's lanes: finish() has not run yet
      const std::size_t of_layer = 2;
      for (std::size_t i = 0; i < got.size(); i += of_layer)
        for (std::size_t t = 0; t < got[i].size(); ++t)
          got[i][t] = got[i + 1][t] = (got[i][t] + got[i + 1][t]) / 2;
    }
    expect_same(got, fixture.scores.at(what), kTolerance);
  }
}

TEST_P(AttentionOracle, sums_by_those_that_saw_a_token_are_kvpress_s_observed_attention) {
  const Fixture fixture = read_fixture();
  Scores got = our_scores(R"({ "use": "attention_sum" })", GetParam(), fixture.tokens);
  for (std::vector<float>& lane : got)
    for (std::size_t t = 0; t < lane.size(); ++t) lane[t] /= static_cast<float>(lane.size() - t);
  expect_same(got, fixture.scores.at("mean"), kTolerance);
}

// A probability near 1 / t may be counted otherwise: of 64 queries hardly ever more than one.
TEST_P(AttentionOracle, misses_are_those_of_whole_matrices_but_for_what_is_nearly_the_mean) {
  const Fixture fixture = read_fixture();
  const Scores got =
      our_scores(R"({ "use": "below_mean", "window": 64 })", GetParam(), fixture.tokens);
  const Scores& want = fixture.scores.at("misses");
  ASSERT_EQ(got.size(), want.size());
  double differs = 0, n = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    for (std::size_t t = 0; t < got[i].size(); ++t, ++n) {
      ASSERT_NEAR(got[i][t], want[i][t], 2.01f) << "lane " << i << " token " << t;
      differs += std::abs(got[i][t] - want[i][t]) > 1e-3f ? 1 : 0;
    }
  EXPECT_LE(differs / n, 0.05);
}

INSTANTIATE_TEST_SUITE_P(Backends, AttentionOracle, testing::Values("reference", "cpu"),
                         [](const auto& row) { return std::string(row.param); });

}  // namespace
}  // namespace satchel::runtime
