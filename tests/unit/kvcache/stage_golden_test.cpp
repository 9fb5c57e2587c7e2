// Golden cases of single stages: numbers worked out by hand from the papers' formulas.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <sstream>

#include "kernels/base/rng.h"
#include "kvcache/stages/apportion.h"
#include "kvcache/stages/ranking.h"
#include "support/source_dir.h"
#include "unit/kvcache/stage_fixture.h"

namespace satchel::kvcache {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::FloatNear;
using testing::Pointwise;
using Lanes = std::vector<std::vector<float>>;

struct F5 {
  std::vector<std::vector<double>> rows;
  std::vector<double> sums;
  struct Kept {
    std::size_t heavy = 0, recent = 0;
    std::vector<std::size_t> positions;
  };
  std::vector<Kept> kept;
};
F5 load_f5() {
  std::ifstream file(test::source_dir() + "/tests/golden/selection/f5.txt");
  F5 f5;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    if (line.starts_with("sums")) {
      words >> word;
      for (double value; words >> value;) f5.sums.push_back(value);
    } else if (line.starts_with("kept")) {
      F5::Kept kept;
      words >> word >> kept.heavy >> kept.recent >> word;
      for (std::size_t position; words >> position;) kept.positions.push_back(position);
      f5.kept.push_back(kept);
    } else {
      f5.rows.emplace_back();
      for (double value; words >> value;) f5.rows.back().push_back(value);
    }
  }
  return f5;
}

std::vector<float> f5_scores(std::string_view scorer, const std::string& params = "{}") {
  const auto backend = test::open_reference();
  return KnownMap::square(load_f5().rows)
      .scores(*make<Scorer>(StageKind::scorer, scorer, params), *backend, Purpose::prefill, 2);
}
std::vector<float> last_protected(std::vector<float> scores, std::size_t n) {
  std::fill(scores.end() - static_cast<std::ptrdiff_t>(n), scores.end(), kNeverEvict);
  return scores;
}
std::vector<float> filtered(std::vector<float> scores, std::string_view filter,
                            const std::string& params = "{}", double keep = 1) {
  make<Filter>(StageKind::filter, filter, params)
      ->apply({.n_layers = 1, .n_lanes = 1, .n_tokens = scores.size(), .keep = keep}, scores);
  return scores;
}

// H1 and K1: arXiv:2306.14048.
TEST(StageGolden, h2o_on_five_tokens_has_the_column_sums_and_the_kept_sets) {
  const F5 f5 = load_f5();
  ASSERT_EQ(f5.rows.size(), 5u);
  ASSERT_EQ(f5.kept.size(), 2u);
  const std::vector<float> sums = f5_scores("attention_sum");
  for (std::size_t j = 0; j < 5; ++j) EXPECT_NEAR(sums[j], f5.sums[j], 1e-5);
  for (const F5::Kept& expected : f5.kept)
    EXPECT_THAT(kept(last_protected(sums, expected.recent), expected.heavy + expected.recent),
                ElementsAreArray(expected.positions));
}

// H2: after token 1 has gone, a decode step's row (0.2, -, 0.2, 0.1, 0.2, 0.3) adds to what stays.
TEST(StageGolden, h2o_adds_a_decode_step_to_the_sums_of_what_the_lane_holds) {
  const auto backend = test::open_reference();
  const auto scorer = make<Scorer>(StageKind::scorer, "attention_sum", "{\"decoding\": true}");
  EXPECT_TRUE(scorer->requirements(nullptr).decoding);
  const KnownMap map({{{0.2, 0, 0.2, 0.1, 0.2, 0.3}}}, {0, 2, 3, 4, 5}, 5);
  std::vector<float> sums = {2.70f, 1.00f, 0.30f, 0.30f, 0};
  map.observe(*scorer, *backend, Purpose::decoding, 0, 1, 5, sums.data());
  EXPECT_THAT(sums, Pointwise(FloatNear(1e-5f), {2.90f, 1.20f, 0.40f, 0.50f, 0.30f}));
  EXPECT_THAT(kept(last_protected(sums, 2), 3), ElementsAre(0, 3, 4));  // positions 0, 4, 5
}

// H3 and Zc1: column means (arXiv:2405.14256).
TEST(StageGolden, zipcache_means_of_five_tokens_rank_them_otherwise_than_sums) {
  const std::vector<float> means = filtered(f5_scores("attention_sum"), "per_query");
  EXPECT_THAT(means, Pointwise(FloatNear(1e-5f), {0.54f, 0.175f, 1.0f / 3, 0.15f, 0.30f}));
  EXPECT_THAT(kept(means, 2), ElementsAre(0, 2));
  EXPECT_THAT(kept(means, 4), ElementsAre(0, 1, 2, 4));
}

// Of n tokens, the share `fine` at the first tier, the rest at the second (arXiv:2405.14256).
TEST(StageGolden, zipcache_holds_the_salient_share_finer) {
  const auto assigner = make<Assigner>(StageKind::assigner, "two_tiers", "{\"fine\": 0.6}");
  std::vector<std::uint8_t> tiers(5);
  assigner->assign(filtered(f5_scores("attention_sum"), "per_query"), 5, tiers);
  EXPECT_THAT(tiers, ElementsAre(0, 1, 0, 1, 0));
}

// SAQ's stairs of 8 and 32 pages over 50: 8 · 8 + 32 · 4 + 10 · 2 bits, 4.24 of a code. Protected
// tokens stand beside the stairs.
TEST(StageGolden, saq_holds_the_latest_pages_finer_stair_by_stair) {
  const auto assigner = make<Assigner>(StageKind::assigner, "staircase");
  std::vector<float> scores(4 + 50 * 128);
  std::iota(scores.begin(), scores.end(), 1.0f);
  std::fill_n(scores.begin(), 4, kNeverEvict);
  std::vector<std::uint8_t> tiers(scores.size());
  assigner->assign(scores, scores.size(), tiers);
  std::vector<std::uint8_t> want(4, 0);
  for (const auto& [pages, tier] : {std::pair<std::size_t, std::uint8_t>{10, 2}, {32, 1}, {8, 0}})
    want.insert(want.end(), pages * 128, tier);
  EXPECT_EQ(tiers, want);
}

// T1: arXiv:2401.06104.
TEST(StageGolden, tova_keeps_what_the_last_query_looks_at) {
  const std::vector<float> row = f5_scores("last_query");
  EXPECT_THAT(row, Pointwise(FloatNear(1e-5f), {0.30f, 0.05f, 0.25f, 0.10f, 0.30f}));
  EXPECT_THAT(kept(row, 2), ElementsAre(0, 4));
  EXPECT_THAT(kept(row, 3), ElementsAre(0, 2, 4));
}

// T2.
TEST(StageGolden, tova_with_the_newest_token_protected_gives_up_the_second_best) {
  const std::vector<float> row = {0.6f, 0.3f, 0.1f};
  EXPECT_THAT(kept(row, 2), ElementsAre(0, 1));
  EXPECT_THAT(kept(last_protected(row, 1), 2), ElementsAre(0, 2));
}

// T3.
TEST(StageGolden, tova_gives_all_lanes_of_a_layer_the_same_scores) {
  const auto scorer = make<Scorer>(StageKind::scorer, "last_query");
  EXPECT_TRUE(scorer->requirements(nullptr).newest_step);
  std::vector<float> a = {0.5f, 0.25f, kNotThere}, b = {0, 0.75f, 0.5f};
  const std::vector<ScoredLane> lanes = {{.scores = a}, {.scores = b}};
  const auto backend = test::open_reference();
  ASSERT_TRUE(scorer->finish(*backend, {}, {}, lanes).ok());
  EXPECT_THAT(a, ElementsAre(0.25f, 0.5f, kNotThere));  // a lane's own loss stays its own
  EXPECT_THAT(b, ElementsAre(0.25f, 0.5f, 0.5f));
}

// Sn1 to Sn4: arXiv:2404.14469; window of two, scores are twice the paper's means.
TEST(StageGolden, snapkv_on_five_tokens) {
  const std::vector<float> window = f5_scores("attention_window", "{\"window\": 2}");
  EXPECT_THAT(window, Pointwise(FloatNear(1e-5f), {0.70f, 0.10f, 0.60f, 0.30f, 0.30f}));
  const std::vector<float> scores = last_protected(window, 2);
  EXPECT_THAT(kept(filtered(scores, "pool", "{\"kernel\": 1}"), 4), ElementsAre(0, 2, 3, 4));
  const auto mean = filtered(scores, "pool", "{\"kernel\": 3}");
  EXPECT_THAT(std::span(mean).first(3),
              Pointwise(FloatNear(1e-5f), {2 * 0.13333f, 2 * 0.23333f, 2 * 0.11667f}));
  EXPECT_THAT(kept(mean, 3), ElementsAre(1, 3, 4));
  const auto largest = filtered(scores, "pool", "{\"kernel\": 3, \"max\": true}");
  EXPECT_THAT(std::span(largest).first(3), Pointwise(FloatNear(1e-5f), {0.70f, 0.70f, 0.60f}));
  EXPECT_THAT(kept(largest, 3), ElementsAre(0, 3, 4));
  EXPECT_EQ(kept(largest, 5).size(), 5u);
}

TEST(StageGolden, pooling_does_not_reach_over_a_token_that_is_not_there) {
  EXPECT_THAT(filtered({8, 1, kNotThere, 2, 4}, "pool", "{\"kernel\": 5, \"max\": true}"),
              ElementsAre(8, 8, kNotThere, 4, 4));
}

TEST(StageGolden, pooling_may_leave_texts_as_they_are_of_which_little_stays) {
  const auto pooled = [](double keep) {
    return filtered({8, 1, 2}, "pool", R"({"kernel": 3, "max": true, "from": 0.15})", keep);
  };
  EXPECT_THAT(pooled(0.15), ElementsAre(8, 8, 2));
  EXPECT_THAT(pooled(0.14), ElementsAre(8, 1, 2));
}

// AK1 to AK4: arXiv:2407.11550.
TEST(StageGolden, ada_kv_budgets_of_two_lanes) {
  const Lanes lanes = {{9, 8, 7, 1}, {3, 2, 1, 0}};
  const auto with = [&](const std::string& alpha, const Lanes& scores) {
    const auto allocator =
        make<Allocator>(StageKind::allocator, "across_heads", "{\"alpha\": " + alpha + "}");
    return budgets_of(*allocator, scores, 4);
  };
  EXPECT_THAT(with("0", lanes), ElementsAre(3, 1));
  EXPECT_THAT(with("0.2", lanes), ElementsAre(3, 1));  // 2.8 and 1.2; rounding each loses one
  EXPECT_THAT(with("1", lanes), ElementsAre(2, 2));
  EXPECT_THAT(with("0.2", {{4, 3, 2, 1}, {4, 3, 2, 1}}), ElementsAre(2, 2));
  const Lanes sinks = {{kNeverEvict, 8, 7, 1}, {kNeverEvict, 2, 1, 0}};
  EXPECT_THAT(with("0", sinks), ElementsAre(3, 1));  // never less than what is protected
}

// X1 to X3: arXiv:2412.05896. Scaling a layer changes nothing, ties go to the lower layer.
TEST(StageGolden, xkv_budgets_of_two_layers) {
  const auto allocator = make<Allocator>(StageKind::allocator, "greedy_layers", "{\"floor\": 0}");
  for (const float scale : {1.0f, 8.0f}) {
    const Lanes layers = {{5 * scale, 3 * scale, 2 * scale, kNotThere}, {4, 3, 2, 1}};
    EXPECT_THAT(budgets_of(*allocator, layers, 4, 2), ElementsAre(2, 2));
    EXPECT_THAT(budgets_of(*allocator, layers, 3, 2), ElementsAre(2, 1));
    EXPECT_THAT(budgets_of(*allocator, layers, 7, 2), ElementsAre(3, 4));
  }
}

// X4: the paper's greedy loop, one token at a time to the layer whose next best adds the most.
TEST(StageGolden, xkv_counts_what_the_papers_greedy_loop_ends_with) {
  const auto allocator = make<Allocator>(StageKind::allocator, "greedy_layers", "{\"floor\": 0}");
  Rng rng(3);
  for (std::size_t round = 0; round < 1000; ++round) {
    const std::size_t n_layers = 2 + rng.next() % 5, n = 3 + rng.next() % 20;
    Lanes layers(n_layers, std::vector<float>(n));
    std::vector<std::vector<double>> sorted;
    for (auto& layer : layers) {
      for (float& x : layer) x = static_cast<float>(1 + rng.next() % 100000);
      std::vector<double>& row = sorted.emplace_back(layer.begin(), layer.end());
      std::sort(row.begin(), row.end(), std::greater<>());
      const double sum = std::accumulate(row.begin(), row.end(), 0.0);
      for (double& x : row) x = static_cast<double>(static_cast<float>(x / sum));
    }
    const std::size_t total = rng.next() % (n_layers * n + 1);
    std::vector<std::size_t> greedy(n_layers);
    for (std::size_t i = 0; i < total; ++i) {
      std::size_t best = n_layers;
      for (std::size_t l = 0; l < n_layers; ++l)
        if (greedy[l] < n &&
            (best == n_layers || sorted[l][greedy[l]] > sorted[best][greedy[best]]))
          best = l;
      ++greedy[best];
    }
    ASSERT_EQ(budgets_of(*allocator, layers, total, n_layers), greedy) << round;
  }
}

TEST(StageGolden, xkv_lanes_of_a_layer_keep_alike_and_a_layer_with_one_loud_token_keeps_a_floor) {
  const auto allocator = make<Allocator>(StageKind::allocator, "greedy_layers", "{\"floor\": 0.5}");
  Lanes lanes(4, std::vector<float>(20, 1));
  lanes[2].assign(20, 0);
  lanes[3].assign(20, 0);
  lanes[2][7] = lanes[3][7] = 100;
  EXPECT_THAT(budgets_of(*allocator, lanes, 40, 2), ElementsAre(15, 15, 5, 5));
}

// Z1: arXiv:2505.23416. Two query heads, a sink, a chunk of three, the repetition behind it.
TEST(StageGolden, kvzip_takes_the_largest_over_queries_and_heads) {
  const auto backend = test::open_reference();
  const auto scorer = make<Scorer>(StageKind::scorer, "reconstruction");
  const KnownMap map({{{.1, .6, .1, .1, .1}, {.2, .1, .1, .4, .2}},
                      {{.1, .05, .7, .05, .1}, {.3, .1, .1, .1, .4}}},
                     {1, 2, 3}, 4);
  const std::vector<float> scores = map.scores(*scorer, *backend, Purpose::probe, 1);
  EXPECT_THAT(scores, Pointwise(FloatNear(1e-5f), {0.6f, 0.7f, 0.4f}));
  EXPECT_THAT(kept(scores, 2), ElementsAre(0, 1));
}

// Z2: where all scores tie, exactly the share and the lowest positions.
TEST(StageGolden, kvzip_keeps_exactly_half_of_equal_scores) {
  const auto allocator = make<Allocator>(StageKind::allocator, "over_all");
  const Lanes lanes = {std::vector<float>(6, 0)};
  EXPECT_THAT(budgets_of(*allocator, lanes, 3), ElementsAre(3));
  EXPECT_THAT(kept(lanes[0], 3), ElementsAre(0, 1, 2));
}

// M1: arXiv:2411.18077.
TEST(StageGolden, pyramid_budgets_by_largest_remainder) {
  std::ifstream file(test::source_dir() + "/tests/golden/selection/pyramid.txt");
  std::size_t n_cases = 0;
  for (std::string line; std::getline(file, line); ++n_cases) {
    std::istringstream words(line);
    TokenSpan span;
    double heavy = 0, recent = 0;
    char colon = 0;
    words >> span.n_layers >> span.n_tokens >> heavy >> recent >> colon;
    span.n_lanes = span.n_layers;
    span.keep = heavy + recent;
    std::vector<std::size_t> totals(span.n_layers);
    make<Allocator>(StageKind::allocator, "pyramid")->totals(span, 0, totals);
    for (const std::size_t total : totals) {
      std::size_t expected = 0;
      ASSERT_TRUE(words >> expected);
      EXPECT_EQ(total - static_cast<std::size_t>(recent * double(span.n_tokens)), expected) << line;
    }
  }
  EXPECT_EQ(n_cases, 4u);
}

TEST(StageGolden, protected_ends_follow_the_span_what_comes_behind_it_and_the_share_of_recent) {
  const auto filter = make<Filter>(StageKind::filter, "protect", "{\"recent\": 0.5}");
  const auto at = [&](std::size_t first, std::size_t n, std::size_t n_after) {
    const auto kept = filter->protects({.n_layers = 1,
                                        .n_lanes = 1,
                                        .n_tokens = n,
                                        .first_position = first,
                                        .n_after = n_after,
                                        .keep = 0.5});
    return std::pair(kept.first, kept.last);
  };
  EXPECT_EQ(at(0, 600, 0), std::pair(std::size_t{4}, std::size_t{150}));
  EXPECT_EQ(at(0, 300, 0), std::pair(std::size_t{4}, std::size_t{128}));
  EXPECT_EQ(at(3, 300, 0), std::pair(std::size_t{1}, std::size_t{128}));
  EXPECT_EQ(at(500, 300, 0), std::pair(std::size_t{0}, std::size_t{128}));
  EXPECT_EQ(at(0, 100, 0), std::pair(std::size_t{4}, std::size_t{100}));
  EXPECT_EQ(at(0, 2, 0), std::pair(std::size_t{2}, std::size_t{2}));
  EXPECT_EQ(at(0, 300, 100), std::pair(std::size_t{4}, std::size_t{75}));
}

// A lane of head_dim 16 in main memory, which is the reference backend's memory.
struct MergeFixture {
  std::vector<Half> k, v;
  std::vector<std::uint8_t> tiers;
  std::vector<float> scores, counts;

  void add(float x, float y, float value, std::uint8_t tier) {
    k.resize(k.size() + 16);
    v.resize(v.size() + 16, float_to_half(value));
    k[k.size() - 16] = float_to_half(x);
    k[k.size() - 15] = float_to_half(y);
    tiers.push_back(tier);
    scores.push_back(1);
    counts.push_back(1);
  }
  void merge(std::string_view merger) {
    const auto backend = test::open_reference();
    const LayerShape layer{.n_heads = 1, .n_kv_heads = 1, .head_dim = 16, .attention_scale = 1};
    const MergeLane lane{.k = k.data(),
                         .v = v.data(),
                         .n_tokens = tiers.size(),
                         .head_dim = 16,
                         .layer = &layer,
                         .tiers = tiers,
                         .scores = scores,
                         .unfiltered = scores,
                         .counts = counts};
    EXPECT_TRUE(make<Merger>(StageKind::merger, merger)->merge(*backend, lane).ok());
  }
};

// Do1: arXiv:2406.13035, cosines near (.9, .5, .1) to the one kept token: the first two merge, with
// weights exp(cosine) against e.
TEST(StageGolden, d2o_merges_what_is_no_less_alike_than_the_mean) {
  MergeFixture lane;
  lane.add(1, 0, 10, 0);
  lane.add(0.9f, 0.4359f, 20, kGone);
  lane.add(0.51f, 0.8602f, 30, kGone);
  lane.add(0.1f, 0.995f, 40, kGone);
  lane.merge("nearest_kept");
  const double e = std::exp(1.0), a = std::exp(0.9), b = std::exp(0.51);
  EXPECT_NEAR(half_to_float(lane.v[0]), (e * 10 + a * 20 + b * 30) / (e + a + b), 0.02);
  EXPECT_NEAR(half_to_float(lane.k[0]), (e + a * 0.9 + b * 0.51) / (e + a + b), 2e-3);
  EXPECT_THAT(lane.counts, ElementsAre(3, 1, 1, 1));
}

// Do2.
TEST(StageGolden, d2o_leaves_a_key_as_it_is_when_equal_ones_merge_into_it) {
  MergeFixture lane;
  lane.add(1, 0, 10, 0);
  lane.add(0, 1, 50, 0);
  lane.add(1, 0, 10, kGone);
  lane.add(1, 0, 10, kGone);
  const auto k = lane.k, v = lane.v;
  lane.merge("nearest_kept");
  EXPECT_EQ(lane.k, k);
  EXPECT_EQ(lane.v, v);
  EXPECT_THAT(lane.counts, ElementsAre(3, 1, 1, 1));
}

TEST(Ranking, nan_counts_as_least_and_ties_go_to_the_earlier) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(best(std::vector<float>{1, nan, 2, 2}, 2), ElementsAre(2, 3));
  EXPECT_THAT(best(std::vector<float>{1, 1, 1}, 2), ElementsAre(0, 1));
  std::vector<std::size_t> counts(2);
  const std::vector<float> a = {1, 3}, b = {3, kNotThere};
  best_of_all(std::vector<std::span<const float>>{a, b}, 9, counts);
  EXPECT_THAT(counts, ElementsAre(2, 1));
}

}  // namespace
}  // namespace satchel::kvcache
