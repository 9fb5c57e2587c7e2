// Golden cases of selections by attention and of budgets by layer: numbers worked out by hand from
// the papers' formulas, on the map F5 of tests/golden/selection.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <numeric>
#include <sstream>

#include "kernels/base/rng.h"
#include "support/source_dir.h"
#include "unit/kvcache/stage_fixture.h"

namespace satchel::kvcache {
namespace {

using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;
using Lanes = std::vector<std::vector<float>>;

const std::vector<KnownMap::Row> kF5 = {{1, 0, 0, 0, 0},
                                        {0.50, 0.50, 0, 0, 0},
                                        {0.50, 0.10, 0.40, 0, 0},
                                        {0.40, 0.05, 0.35, 0.20, 0},
                                        {0.30, 0.05, 0.25, 0.10, 0.30}};

std::vector<float> f5_scores(std::string_view scorer, const std::string& params,
                             std::size_t chunk) {
  const auto backend = test::open_reference();
  return KnownMap::square(kF5).scores(*make<Scorer>(StageKind::scorer, scorer, params), *backend,
                                      Purpose::prefill, chunk);
}
std::vector<std::size_t> totals_of(const Allocator& allocator, const TokenSpan& span,
                                   std::size_t n_protected) {
  std::vector<std::size_t> totals(span.n_layers);
  allocator.totals(span, n_protected, totals);
  return totals;
}

// A1 to A3: arXiv:2407.20485, a query counts half as much as the next.
TEST(AttentionRecipes, a2sf_lets_what_queries_said_fade_one_token_at_a_time) {
  const std::string fading = "{\"half_life\": 1}";
  const std::vector<float> whole = f5_scores("attention_sum", fading, 5);
  EXPECT_THAT(whole, Pointwise(FloatNear(1e-5f), {0.75f, 0.1625f, 0.525f, 0.20f, 0.30f}));
  for (const std::size_t chunk : {1u, 2u, 3u})
    EXPECT_THAT(f5_scores("attention_sum", fading, chunk), Pointwise(FloatNear(1e-6f), whole));
  EXPECT_NEAR(std::accumulate(whole.begin(), whole.end(), 0.0), 1.9375, 1e-5);
}

// 2^(-4 / 0.3) is 9.7e-5: of five queries the oldest counts less than 1e-4, and not at all.
TEST(AttentionRecipes, a2sf_leaves_out_queries_that_have_faded) {
  const std::vector<float> scores = f5_scores("attention_sum", "{\"half_life\": 0.3}", 2);
  const double sum = std::accumulate(scores.begin(), scores.end(), 0.0);
  double want = 0;
  for (const int age : {0, 1, 2, 3}) want += std::exp2(-age / 0.3);
  EXPECT_NEAR(sum, want, 1e-6);
}

TEST(AttentionRecipes, a2sf_does_not_go_on_while_answering) {
  const JsonNode node = parse_json("{\"half_life\": 9, \"decoding\": true}", "r.json").value();
  Params params(node, "r.json");
  for (const StageEntry* entry : stages_of(StageKind::scorer)) {
    if (entry->name != "attention_sum") continue;
    const auto made = entry->make(params);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, "RECIPE");
    EXPECT_THAT(made.error().message, HasSubstr("\"half_life\""));
  }
}

// Sc1: arXiv:2305.17118. Misses 0, 3, 0, 2 and 0; of three, one the newest.
TEST(AttentionRecipes, scissorhands_drops_what_most_queries_passed_over) {
  for (const std::size_t chunk : {1u, 2u, 3u, 5u}) {
    const std::vector<float> scores = f5_scores("below_mean", "{}", chunk);
    EXPECT_THAT(scores, ElementsAre(1, 0.25f, 1, 1.0f / 3, 1));
    EXPECT_THAT(kept(scores, 3), ElementsAre(0, 2, 4));
  }
  EXPECT_THAT(f5_scores("below_mean", "{\"window\": 2}", 2),
              ElementsAre(1, 1.0f / 3, 1, 1.0f / 3, 1));
}

// Sc2: what has exactly the mean is no miss.
TEST(AttentionRecipes, scissorhands_counts_nothing_where_all_are_looked_at_alike) {
  std::vector<KnownMap::Row> rows(30, KnownMap::Row(30, 0));
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (std::size_t j = 0; j <= i; ++j) rows[i][j] = 1 / double(i + 1);
  const auto backend = test::open_reference();
  const auto scorer = make<Scorer>(StageKind::scorer, "below_mean");
  EXPECT_THAT(KnownMap::square(rows).scores(*scorer, *backend, Purpose::prefill, 7),
              testing::Each(1.0f));
}

// A decode step after token 1 has gone: five entries are seen, not six, so .2 is the mean.
TEST(AttentionRecipes, scissorhands_counts_entries_that_a_lane_holds_not_positions) {
  const auto backend = test::open_reference();
  const auto scorer = make<Scorer>(StageKind::scorer, "below_mean", "{\"decoding\": true}");
  EXPECT_TRUE(scorer->requirements(nullptr).decoding);
  const KnownMap map({{{0.2, 0, 0.18, 0.12, 0.2, 0.3}}}, {0, 2, 3, 4, 5}, 5);
  std::vector<float> misses = {0, 0, 2, 0, 0};
  map.observe(*scorer, *backend, Purpose::decoding, 0, 1, 5, misses.data());
  EXPECT_THAT(misses, ElementsAre(0, 1, 3, 0, 0));
}

TEST(AttentionRecipes, scissorhands_counts_what_a_lane_holds_of_the_text_before) {
  const auto scorer = make<Scorer>(StageKind::scorer, "below_mean");
  EXPECT_THAT(LaterText().scores(*scorer), ElementsAre(0.5f, 0.5f));  // .28 and .32 of a third
}

// Kf1 to Kf3: arXiv:2403.09054.
TEST(AttentionRecipes, keyformer_at_temperature_1_is_h2o_and_when_hot_looks_at_all_alike) {
  for (const std::size_t chunk : {2u, 5u}) {
    EXPECT_THAT(f5_scores("tempered_sum", "{\"temperature\": 1}", chunk),
                Pointwise(FloatNear(1e-5f), f5_scores("attention_sum", "{}", chunk)));
    const float uniform[] = {1 + 1 / 2.0f + 1 / 3.0f + 1 / 4.0f + 1 / 5.0f,
                             1 / 2.0f + 1 / 3.0f + 1 / 4.0f + 1 / 5.0f,
                             1 / 3.0f + 1 / 4.0f + 1 / 5.0f, 1 / 4.0f + 1 / 5.0f, 1 / 5.0f};
    EXPECT_THAT(f5_scores("tempered_sum", "{\"temperature\": 1e6}", chunk),
                Pointwise(FloatNear(1e-4f), uniform));
  }
  EXPECT_EQ(f5_scores("tempered_sum", "{}", 2), f5_scores("tempered_sum", "{}", 2));
}

// At temperature 2 probabilities go as their roots.
TEST(AttentionRecipes, keyformer_takes_roots_at_temperature_2_and_counts_what_a_lane_holds) {
  const auto scorer = make<Scorer>(StageKind::scorer, "tempered_sum", "{\"temperature\": 2}");
  const double first = std::sqrt(.2) + std::sqrt(.8);
  const double second = std::sqrt(.4) + std::sqrt(.28) + std::sqrt(.32);
  EXPECT_THAT(LaterText().scores(*scorer),
              Pointwise(FloatNear(1e-5f), {float(std::sqrt(.8) / first + std::sqrt(.28) / second),
                                           float(std::sqrt(.32) / second)}));
}

// P1 to P3: arXiv:2406.02069, four layers that choose 100 each beside a window of 8.
TEST(AttentionRecipes,
     pyramidkv_budgets_are_exact_flatter_in_a_short_text_and_flat_at_steepness_1) {
  const auto with = [](const std::string& beta, std::size_t n_chosen_from) {
    const std::size_t n = n_chosen_from + 8;
    const TokenSpan span{
        .n_layers = 4, .n_lanes = 4, .n_tokens = n, .keep = 108.0 / static_cast<double>(n)};
    std::vector<std::size_t> totals = totals_of(
        *make<Allocator>(StageKind::allocator, "pyramid_window", "{\"beta\": " + beta + "}"), span,
        8);
    for (std::size_t& total : totals) total -= 8;
    return totals;
  };
  EXPECT_THAT(with("20", 1000), ElementsAre(195, 132, 68, 5));
  EXPECT_THAT(with("20", 150), ElementsAre(150, 117, 83, 50));
  EXPECT_THAT(with("1", 1000), ElementsAre(100, 100, 100, 100));
}

TEST(AttentionRecipes, pyramidkv_leaves_every_layer_what_is_protected_and_a_tenth_of_the_mean) {
  const auto allocator = make<Allocator>(StageKind::allocator, "pyramid_window");
  const TokenSpan span{.n_layers = 4, .n_lanes = 4, .n_tokens = 1000, .keep = 0.1};
  EXPECT_THAT(totals_of(*allocator, span, 0), ElementsAre(190, 132, 68, 10));
  EXPECT_THAT(totals_of(*allocator, span, 100), ElementsAre(100, 100, 100, 100));
  EXPECT_THAT(totals_of(*allocator, span, 132), ElementsAre(132, 132, 132, 132));
  const TokenSpan one{.n_layers = 1, .n_lanes = 2, .n_tokens = 1000, .keep = 0.1};
  EXPECT_THAT(totals_of(*allocator, one, 20), ElementsAre(200));
}

// kvpress 0.5.5 (tests/oracle/make_attention_score_fixtures.py): the slope over the whole budget,
// each layer rounded by itself, so that its sum may miss the total.
TEST(AttentionRecipes, pyramidkv_budgets_are_kvpress_s_but_for_one_token_of_rounding) {
  std::ifstream file(test::source_dir() + "/tests/golden/selection/pyramidkv_budgets.txt");
  std::size_t n_cases = 0;
  for (std::string line; std::getline(file, line); ++n_cases) {
    std::istringstream words(line);
    std::size_t n_layers = 0, n_tokens = 0, n_kept = 0;
    std::string beta, colon;
    words >> n_layers >> n_tokens >> n_kept >> beta >> colon;
    const TokenSpan span{.n_layers = n_layers,
                         .n_lanes = n_layers,
                         .n_tokens = n_tokens,
                         .keep = double(n_kept) / double(n_tokens)};
    const auto allocator =
        make<Allocator>(StageKind::allocator, "pyramid_window", "{\"beta\": " + beta + "}");
    const std::vector<std::size_t> totals = totals_of(*allocator, span, 0);
    EXPECT_EQ(std::accumulate(totals.begin(), totals.end(), std::size_t{0}), n_kept * n_layers);
    for (const std::size_t total : totals) {
      double theirs = 0;
      ASSERT_TRUE(words >> theirs);
      EXPECT_NEAR(double(total), theirs, 1) << line;
    }
  }
  EXPECT_EQ(n_cases, 4u);
}

// Zc2 and Zc3: arXiv:2410.08584. Of F5's column sums four fifths of the attention take three
// tokens, of equal ones four of five.
TEST(AttentionRecipes, zipvl_keeps_the_same_share_of_attention_in_every_layer) {
  const Lanes layers = {{2.7f, 0.7f, 1.0f, 0.3f, 0.3f}, {1, 1, 1, 1, 1}};
  const auto allocator = make<Allocator>(StageKind::allocator, "greedy_layers",
                                         "{\"floor\": 0, \"equal_mass\": true}");
  EXPECT_THAT(budgets_of(*allocator, layers, 7, 2), ElementsAre(3, 4));
  EXPECT_THAT(budgets_of(*allocator, layers, 4, 2), ElementsAre(1, 3));  // shares .54 and .6
  EXPECT_THAT(budgets_of(*allocator, layers, 2, 2), ElementsAre(1, 1));
  EXPECT_THAT(budgets_of(*allocator, layers, 10, 2), ElementsAre(5, 5));
}

// Zc2 again: chosen by means (0, 2 and 4), counted by the sums that they are means of.
TEST(AttentionRecipes, zipvl_counts_attention_in_sums_and_chooses_by_means) {
  const Lanes means = {{0.54f, 0.175f, 1.0f / 3, 0.15f, 0.30f}, {0.2f, 0.25f, 1.0f / 3, 0.5f, 1}};
  const auto allocator = make<Allocator>(StageKind::allocator, "greedy_layers",
                                         "{\"floor\": 0, \"equal_mass\": true, \"means\": true}");
  const std::vector<std::size_t> budgets = budgets_of(*allocator, means, 7, 2);
  EXPECT_THAT(budgets, ElementsAre(3, 4));
  EXPECT_THAT(kept(means[0], budgets[0]), ElementsAre(0, 2, 4));
}

TEST(AttentionRecipes, zipvl_budgets_sum_to_the_total_within_what_lanes_protect_and_hold) {
  const auto allocator = make<Allocator>(StageKind::allocator, "greedy_layers",
                                         "{\"equal_mass\": true, \"means\": true}");
  Rng rng(5);
  for (std::size_t round = 0; round < 200; ++round) {
    Lanes lanes(6, std::vector<float>(1 + rng.next() % 40));
    std::size_t least = 0, most = 0;
    for (std::vector<float>& lane : lanes)
      for (float& score : lane) {
        const std::uint64_t kind = rng.next() % 9;
        score = kind == 0   ? kNeverEvict
                : kind == 1 ? kNotThere
                            : static_cast<float>(rng.next() % 50) / 64;
        least += kind == 0 ? 1 : 0;
        most += kind == 1 ? 0 : 1;
      }
    for (const std::size_t total : {std::size_t{0}, least, (least + most) / 2, most}) {
      const auto budgets = budgets_of(*allocator, lanes, total, 3);
      ASSERT_EQ(std::accumulate(budgets.begin(), budgets.end(), std::size_t{0}),
                std::min(most, std::max(total, least)));
    }
  }
}

// Pi1: arXiv:2405.12532, shares 1, .98536, .95 and .91464 of the layer below.
TEST(AttentionRecipes, pyramidinfer_leaves_less_and_less_of_the_layer_below) {
  const auto allocator = make<Allocator>(StageKind::allocator, "cosine_layers");
  const TokenSpan span{.n_layers = 4, .n_lanes = 4, .n_tokens = 100000, .keep = 0.5};
  const std::vector<std::size_t> totals = totals_of(*allocator, span, 0);
  for (const auto& [layer, share] : {std::pair(1, 0.98536), {2, 0.95}, {3, 0.91464}}) {
    const auto at = static_cast<std::size_t>(layer);
    EXPECT_NEAR(double(totals[at]) / double(totals[at - 1]), share, 3e-5);
  }
  EXPECT_EQ(std::accumulate(totals.begin(), totals.end(), std::size_t{0}), 200000u);
}

TEST(AttentionRecipes, pyramidinfer_gives_no_layer_more_than_there_is) {
  const auto allocator = make<Allocator>(StageKind::allocator, "cosine_layers", "{\"delta\": 0.1}");
  // Of the 2,800 that are chosen the first two, whose shares are 1 and .86820, would be more than
  // all 900; the last two have 1,000 at .47751 to .11069.
  const TokenSpan span{.n_layers = 4, .n_lanes = 4, .n_tokens = 1000, .keep = 0.8};
  EXPECT_THAT(totals_of(*allocator, span, 100), ElementsAre(1000, 1000, 912, 288));
}

// Pi3: the last two of five queries, weights 1.0 and 1.2; scores are twice the paper's means. Pi2
// is the trigger's: a short text stays whole.
TEST(AttentionRecipes, pyramidinfer_counts_later_queries_a_little_more) {
  const std::string last_two = "{\"share\": 0.2, \"newest\": 1.2, \"layer_shared\": true}";
  for (const std::size_t chunk : {1u, 2u, 5u}) {
    const std::vector<float> scores = f5_scores("attention_window", last_two, chunk);
    EXPECT_THAT(std::span(scores).first(3),
                Pointwise(FloatNear(1e-5f), {2 * 0.38f, 2 * 0.055f, 2 * 0.325f}));
  }
}

}  // namespace
}  // namespace satchel::kvcache
