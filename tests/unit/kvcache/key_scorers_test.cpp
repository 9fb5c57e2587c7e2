// Golden cases of scorers that look at positions, keys and values alone: worked out by hand.
#include <gmock/gmock.h>

#include "unit/kvcache/read_text.h"

namespace satchel::kvcache {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

// arXiv:2504.15364. The mean of the keys' directions is (2, 1) / 3, the cosines to it are 2 / √5
// and
// 1 / √5; the score is 1 less that.
TEST(KeyScorers, keydiff_keeps_the_key_unlike_the_others_whatever_its_length) {
  const ReadText text{.keys = {{1, 0}, {1, 0}, {0, 1}}};
  const ReadText scaled{.keys = {{8, 0}, {0.25f, 0}, {0, 3}}};
  for (const ReadText& each : {text, scaled})
    for (const std::size_t chunk : {1u, 2u, 3u}) {
      const std::vector<float> scores = each.scores("keydiff", "{}", chunk);
      EXPECT_THAT(scores, Pointwise(FloatNear(1e-6f), {0.1055728f, 0.1055728f, 0.5527864f}));
      EXPECT_THAT(kept(scores, 1), ElementsAre(2));
      EXPECT_THAT(kept(scores, 2), ElementsAre(0, 2));
    }
}

// Of keys after RoPE: at positions 0 and 1 the key (1, 0) rotated by a right angle a position
// stands at (1, 0) and (0, 1), each at 45° from the mean.
TEST(KeyScorers, keydiff_compares_keys_as_they_are_held) {
  const ReadText text{.keys = {{1, 0}, {1, 0}}, .inverse_frequency = {1.5707963267948966}};
  EXPECT_THAT(text.scores("keydiff"), Each(FloatNear(0.2928932f, 1e-3f)));
}

TEST(KeyScorers, keydiff_of_equal_keys_keeps_the_first_and_a_key_of_length_0_is_like_none) {
  const ReadText equal{.keys = ReadText::Matrix(5, {0.5f, 2})};
  EXPECT_THAT(kept(equal.scores("keydiff"), 2), ElementsAre(0, 1));
  const ReadText zero{.keys = {{0, 0}, {1, 0}}};
  EXPECT_THAT(zero.scores("keydiff"), Pointwise(FloatNear(1e-6f), {1.0f, 0.0f}));
  const ReadText nothing{.keys = {{0, 0}, {0, 0}}};
  EXPECT_THAT(nothing.scores("keydiff"), Each(1.0f));
}

// Read in one piece and token by token.
void expect_scores(const ReadText& text, std::string_view scorer, const std::string& params,
                   const std::vector<float>& expected, float tolerance = 1e-5f) {
  for (const std::size_t chunk : {100u, 1u, 2u, 3u})
    EXPECT_THAT(text.scores(scorer, params, chunk), Pointwise(FloatNear(tolerance), expected))
        << scorer << " " << params << ", " << chunk << " at a time";
}

// N1: arXiv:2406.11430. Lengths 3, 1, 2, 1.
TEST(KeyScorers, l2norm_keeps_short_keys_and_of_equal_ones_the_first) {
  const ReadText text{.keys = {{3, 0}, {0, -1}, {0, 2}, {1, 0}}};
  expect_scores(text, "l2norm", "{}", {1.0f / 4, 1.0f / 2, 1.0f / 3, 1.0f / 2});
  EXPECT_THAT(kept(text.scores("l2norm"), 2), ElementsAre(1, 3));
  EXPECT_THAT(kept(text.scores("l2norm"), 1), ElementsAre(1));
}

// N2, and text that was read long ago, whose keys come as they were before RoPE.
TEST(KeyScorers, l2norm_is_the_same_before_and_after_rope) {
  const ReadText text{
      .keys = {{3, 4}, {0, 2}, {1, 1}}, .first_position = 77, .inverse_frequency = {0.7}};
  const std::vector<float> expected = {1.0f / 6, 1.0f / 3, 0.4142136f};
  expect_scores(text, "l2norm", "{}", expected, 1e-3f);
  const std::vector<float> before = {3, 4, 0, 2, 1, 1};
  std::vector<float> scores(3);
  const auto scorer = make<Scorer>(StageKind::scorer, "l2norm");
  EXPECT_TRUE(scorer->scores_held());
  EXPECT_TRUE(scorer->score_held({.k = before, .head_dim = 2, .importance = {}}, scores));
  EXPECT_THAT(scores, Pointwise(FloatNear(1e-6f), expected));
}

// Half of 300 for two layers of 100 is 75 each, the other 150 go to four; of 1,600, two layers can
// be whole, and 1,400 go to thirty.
TEST(KeyScorers, first_layers_keep_all_or_half_of_what_is_kept) {
  const auto allocator = make<Allocator>(StageKind::allocator, "first_layers");
  const auto totals = [&](std::size_t n_layers, double keep) {
    std::vector<std::size_t> of_layers(n_layers);
    allocator->totals({.n_layers = n_layers, .n_lanes = n_layers, .n_tokens = 100, .keep = keep}, 4,
                      of_layers);
    return of_layers;
  };
  EXPECT_THAT(totals(6, 0.5), ElementsAre(75, 75, 38, 38, 37, 37));
  std::vector<std::size_t> expected(32, 46);
  std::fill_n(expected.begin(), 22, 47);
  expected[0] = expected[1] = 100;
  EXPECT_EQ(totals(32, 0.5), expected);
  EXPECT_THAT(totals(2, 0.3), ElementsAre(30, 30));
}

constexpr float kLn2 = 0.6931472f, kRoot2 = 1.4142136f;

// E1: arXiv:2510.00636. All queries are (1, 0): logits 0 and √2 ln 2 / √2, so 1 / 3 and 2 / 3;
// values of length 3 and 1.
TEST(KeyScorers, expected_attention_of_one_query_is_its_softmax_times_the_values_length) {
  const ReadText text{.keys = {{0, 0}, {kRoot2 * kLn2, 0}},
                      .values = {{3, 0}, {0, 1}},
                      .queries = {{1, 0}, {1, 0}}};
  expect_scores(text, "expected_attention", R"({ "sinks": 0 })", {1, 2.0f / 3}, 1e-3f);
  expect_scores(text, "expected_attention", R"({ "sinks": 0, "values": false })",
                {1.0f / 3, 2.0f / 3}, 1e-3f);
  expect_scores(text, "expected_attention", R"({ "sinks": 0, "epsilon": 0.1 })", {1.3f, 0.7666667f},
                1e-3f);
}

// E2: queries 1 ± 1.698644 in the first channel have the mean 1 and the variance 2 / ln 2, which
// adds k² / 4 · variance = ln 2 to the second logit.
TEST(KeyScorers, expected_attention_adds_half_the_variance_of_the_logit) {
  const ReadText text{.keys = {{0, 0}, {kRoot2 * kLn2, 0}},
                      .values = {{3, 0}, {0, 1}},
                      .queries = {{2.698644f, 0}, {-0.698644f, 0}}};
  expect_scores(text, "expected_attention", R"({ "sinks": 0 })", {0.6f, 0.8f}, 1e-3f);
  expect_scores(text, "expected_attention", R"({ "sinks": 0, "covariance": false })", {1, 2.0f / 3},
                1e-3f);
}

// Variance between channels counts: queries ±(1, 1) have the covariance 1 everywhere, so the key
// (c, c) has the logit c² and (c, -c) none.
TEST(KeyScorers, expected_attention_uses_the_whole_covariance) {
  const float c = 0.8325546f;  // √ln 2
  const ReadText text{.keys = {{c, -c}, {c, c}}, .queries = {{1, 1}, {-1, -1}}};
  expect_scores(text, "expected_attention", R"({ "sinks": 0, "values": false })",
                {1.0f / 3, 2.0f / 3}, 1e-3f);
}

// E3: RoPE turns by 45° a place; keys stand at (1, 0) and (0, 1) after it. Two tokens have been
// read, so the next place is 2, where the query (√2 ln 2, 0) is (0, √2 ln 2). Places 2 and 3 on
// average: cosine (0 - .707107) / 2, sine (1 + .707107) / 2, so the logits are ln 2 times these.
TEST(KeyScorers, expected_attention_looks_from_the_places_to_come) {
  constexpr float kHalf = 0.7071068f;
  for (const auto pairs : {kernels::RopePairs::adjacent, kernels::RopePairs::halves}) {
    const ReadText text{.keys = {{1, 0}, {kHalf, kHalf}},
                        .queries = {{kRoot2 * kLn2, 0}, {kRoot2 * kLn2, 0}},
                        .inverse_frequency = {0.7853981633974483},
                        .pairs = pairs};
    const std::string with = R"({ "sinks": 0, "values": false, "future": )";
    expect_scores(text, "expected_attention", with + "1 }", {1.0f / 3, 2.0f / 3}, 1e-3f);
    expect_scores(text, "expected_attention", with + "2 }", {0.302227f, 0.697773f}, 1e-3f);
  }
}

// The first token is no part of the statistics nor of the softmax; head 1 has queries of length 0.
TEST(KeyScorers, expected_attention_leaves_sinks_out_and_means_over_the_heads) {
  const ReadText text{.keys = {{5, 5}, {0, 0}, {kRoot2 * kLn2, 0}},
                      .queries = {{100, 9, 8, 7}, {1, 0, 0, 0}, {1, 0, 0, 0}},
                      .n_group = 2};
  expect_scores(text, "expected_attention", R"({ "sinks": 1, "values": false })",
                {0.5833333f, 0.4166667f, 0.5833333f}, 1e-3f);
}

// arXiv:2504.04704, stretches of two behind one first token: 1 and 2 are measured by 3 and 4. Keys
// range over (0 … 2, 0 … 4) there, so token 1 stands at (.5, .5), evenly, and token 2 at (1, 0),
// with deviation √.5; softmax: .3302384 and .6697616. Values over (0 … 2, 0 … 2): (.5, 0) deviates
// by √.125, (.5, .5) not: .5874789 and .4125211.
TEST(KeyScorers, lagkv_measures_a_stretch_by_the_next) {
  const ReadText text{.keys = {{9, 9}, {1, 2}, {2, 0}, {0, 0}, {2, 4}, {7, 8}},
                      .values = {{9, 9}, {1, 0}, {1, 1}, {0, 2}, {2, 0}, {7, 8}}};
  expect_scores(text, "lagkv", R"({ "lag": 2, "sinks": 1, "ranked": false })",
                {1, 0.4588587f, 0.5411413f, 1, 1, 1});
  expect_scores(text, "lagkv", R"({ "lag": 2, "sinks": 1 })", {1, 0, 0.5f, 1, 1, 1});
}

TEST(KeyScorers, lagkv_ranks_the_earlier_of_equals_higher_and_slides_over_short_texts) {
  const ReadText equal{.keys = ReadText::Matrix(7, {1, 2})};
  expect_scores(equal, "lagkv", R"({ "lag": 3, "sinks": 1 })", {1, 2.0f / 3, 1.0f / 3, 0, 1, 1, 1});
  expect_scores(equal, "lagkv", R"({ "lag": 4, "sinks": 1 })",
                {1, 0, 1.0f / 6, 2.0f / 6, 3.0f / 6, 4.0f / 6, 5.0f / 6});
  ReadText later = equal;  // no first tokens of the conversation
  later.first_position = 50;
  expect_scores(later, "lagkv", R"({ "lag": 3, "sinks": 4 })", {2.0f / 3, 1.0f / 3, 0, 1, 1, 1, 1});
}

// C1: arXiv:2507.08143. Σ xᵀx = 2 · 1 and the jitter of .01: 1 / 2.01 each, wherever the mean lies.
TEST(KeyScorers, leverage_of_a_cross_is_the_same_for_all_and_does_not_see_the_mean) {
  for (const auto& [x, y] : {std::pair(0.0f, 0.0f), std::pair(3.0f, -5.0f)}) {
    const ReadText text{.keys = {{x + 1, y}, {x - 1, y}, {x, y + 1}, {x, y - 1}}};
    expect_scores(text, "leverage", R"({ "sketch": 0 })", std::vector<float>(4, 0.4975124f), 1e-4f);
  }
}

// C2: the fifth key draws the mean to (2, 0): squares 82 and 2, so 1 / 82.01, 9 / 82.01,
// 4 / 82.01 + 1 / 2.01 twice, and 64 / 82.01.
TEST(KeyScorers, leverage_is_largest_for_an_outlier_and_is_of_keys_before_rope) {
  const ReadText text{.keys = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}, {10, 0}}};
  const std::vector<float> expected = {0.0121936f, 0.1097427f, 0.5462869f, 0.5462869f, 0.7803926f};
  expect_scores(text, "leverage", R"({ "sketch": 0 })", expected, 1e-4f);
  ReadText rotated = text;
  rotated.first_position = 3;
  rotated.inverse_frequency = {0.9};
  expect_scores(rotated, "leverage", R"({ "sketch": 0 })", expected, 4e-3f);
}

// A sketch with more columns than a key has channels loses nothing: only the jitter counts
// otherwise.
TEST(KeyScorers, leverage_by_a_wide_sketch_is_the_exact_one) {
  const ReadText text{.keys = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}, {10, 0}}};
  const std::vector<float> exact = text.scores("leverage", R"({ "sketch": 0 })");
  const std::vector<float> sketched = text.scores("leverage", R"({ "sketch": 64 })");
  EXPECT_THAT(sketched, Pointwise(FloatNear(5e-3f), exact));
  EXPECT_NE(sketched, exact);
}

// arXiv:2507.08143, candidates 1 to 4 in blocks of two. Attention: queries of 1 and 4 see their own
// key with logit ln 3, all else with 0, so columns have 1.25, .75, .75, 1.25; times the values'
// lengths 1, 2, 2, 1 and as means of three: .916667, 1.416667, 1.416667, .916667; normalised
// ∓.866025. Leverage: squares about the mean (.5, .75) are 1, 2.75 and -1.5 between channels; with
// the jitter .247628, .703358, .247628, .731259, normalised -.865262, .813864, -.865262, .916664.
// Half of that is added where half of the text goes; tokens that are no candidates get the largest.
TEST(KeyScorers, compactor_adds_leverage_and_the_attention_of_blocks) {
  const float a = kRoot2 * 1.0986123f;
  const ReadText text{.keys = {{9, 9}, {1, 0}, {0, 1}, {1, 0}, {0, 2}, {9, 9}},
                      .values = {{9, 9}, {1, 0}, {2, 0}, {0, 2}, {0, 1}, {9, 9}},
                      .queries = {{9, 9}, {a, 0}, {0, 0}, {0, 0}, {0, a / 2}, {9, 9}}};
  const std::string with = R"({ "block": 2, "first": 1, "last": 1, "sketch": 0 )";
  expect_scores(text, "compactor", with + "}",
                {1.272957f, -1.298656f, 1.272957f, 0.433394f, -0.407693f, 1.272957f}, 1e-4f);
  expect_scores(text, "compactor", with + R"(, "blend": 0 })",
                {0.866025f, -0.866025f, 0.866025f, 0.866025f, -0.866025f, 0.866025f}, 1e-4f);
}

// The last block has one token, which sees itself alone: 1, beside 1.25 and .75.
TEST(KeyScorers, compactor_takes_a_last_block_that_is_short_as_it_is) {
  const float a = kRoot2 * 1.0986123f;
  const ReadText text{.keys = {{1, 0}, {0, 1}, {5, 5}},
                      .values = {{1, 0}, {1, 0}, {1, 0}},
                      .queries = {{a, 0}, {0, 0}, {1, 1}}};
  // Means of three: 2 / 3, 1, .583333; less .75: -.083333, .25, -.166667, over .220479.
  expect_scores(text, "compactor",
                R"({ "block": 2, "first": 0, "last": 0, "sketch": 0, "blend": 0 })",
                {-0.377964f, 1.133893f, -0.755929f}, 1e-4f);
}

TEST(KeyScorers, compactor_of_a_text_without_candidates_scores_nothing) {
  const ReadText text{.keys = {{1, 0}, {0, 1}, {5, 5}}};
  expect_scores(text, "compactor", "{}", {0, 0, 0});
}

// arXiv:2509.15038, windows of two. Shares of squared lengths: keys 1, 4 | 1, 1 | 9, values
// 4, 1 | 1, 4 | 9: products .16, .16, .1, .4, 1, sum 1.82.
TEST(KeyScorers, cur_multiplies_the_shares_of_key_and_value_in_their_window) {
  const ReadText text{.keys = {{1, 0}, {0, 2}, {0, 1}, {1, 0}, {3, 0}},
                      .values = {{0, 2}, {1, 0}, {0, 1}, {2, 0}, {0, 3}}};
  expect_scores(text, "cur", R"({ "window": 2, "sinks": 0 })",
                {0.0879121f, 0.0879121f, 0.0549451f, 0.2197802f, 0.5494505f});
  // 4, 4, 1, 4, 81 of 94.
  expect_scores(text, "cur", R"({ "window": 0, "sinks": 1 })",
                {1, 0.0425532f, 0.0106383f, 0.0425532f, 0.8617021f});
}

TEST(KeyScorers, cur_gives_nothing_to_a_window_of_zeros_and_knows_sinks_by_their_position) {
  const ReadText zeros{.keys = {{0, 0}, {0, 0}, {1, 0}, {1, 0}}};
  expect_scores(zeros, "cur", R"({ "window": 2, "sinks": 0 })", {0, 0, 0.5f, 0.5f});
  ReadText later = zeros;
  later.first_position = 3;
  expect_scores(later, "cur", R"({ "window": 2, "sinks": 4 })", {1, 0, 0.5f, 0.5f});
}

}  // namespace
}  // namespace satchel::kvcache
