#include "runtime/sampler/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <vector>

#include "kernels/base/rng.h"

namespace satchel::runtime {
namespace {

using testing::HasSubstr;
using Logits = std::vector<float>;

constexpr std::size_t kDraws = 20'000;

std::int32_t choose(Sampler& sampler, Logits logits, std::vector<std::int32_t> recent = {}) {
  return sampler.choose(logits, recent);
}

// Everything off but temperature 1: plain draws from the softmax.
Sampling plain() {
  return {.temperature = 1, .top_k = 0, .top_p = 1, .min_p = 0, .repetition_penalty = 1, .seed = 7};
}

std::map<std::int32_t, double> shares(const Sampling& sampling, const Logits& logits) {
  Sampler sampler(sampling);
  std::map<std::int32_t, double> out;
  for (std::size_t i = 0; i < kDraws; ++i) out[choose(sampler, logits)] += 1.0 / kDraws;
  return out;
}

TEST(Sampler, temperature_0_takes_the_largest_and_the_lower_id_of_a_tie) {
  Sampler sampler(Sampling::plain_greedy(0));
  EXPECT_EQ(choose(sampler, {1, 5, 2, 5}), 1);
  EXPECT_EQ(choose(sampler, {-3}), 0);
}

// Vocabularies are read in blocks. With few values ties lie in several of them, and NaN is never
// the largest.
TEST(Sampler, of_a_large_vocabulary_takes_what_a_look_at_every_token_takes) {
  Rng rng(1);
  for (const std::size_t n : {1u, 15u, 16u, 255u, 256u, 257u, 300u, 4099u}) {
    SCOPED_TRACE(n);
    Logits logits(n);
    for (float& logit : logits) logit = std::floor(static_cast<float>(10 * rng.uniform()));
    std::vector<std::int32_t> ranked(n);
    std::iota(ranked.begin(), ranked.end(), 0);
    std::ranges::stable_sort(ranked, std::ranges::greater{},
                             [&](std::int32_t id) { return logits[static_cast<std::size_t>(id)]; });
    Sampler greedy(Sampling::plain_greedy(0));
    EXPECT_EQ(choose(greedy, logits), ranked[0]);
    Sampling few = plain();
    few.top_k = 3;
    Sampler sampler(few);
    std::set<std::int32_t> drawn;
    for (int i = 0; i < 300; ++i) drawn.insert(choose(sampler, logits));
    ranked.resize(std::min<std::size_t>(n, 3));
    EXPECT_EQ(drawn, std::set<std::int32_t>(ranked.begin(), ranked.end()));
  }
  const float none = -std::numeric_limits<float>::infinity(), nan = std::nanf("");
  Sampler greedy(Sampling::plain_greedy(0));
  EXPECT_EQ(choose(greedy, Logits(1000, none)), 0);
  Logits late(1000, nan);
  late[900] = -7;
  EXPECT_EQ(choose(greedy, late), 900);
  EXPECT_EQ(choose(greedy, Logits(1000, nan)), 0);
}

TEST(Sampler, the_same_seed_draws_the_same_tokens_and_another_seed_others) {
  const Logits logits = {1, 1.5f, 0.5f, 1.2f, 0.1f};
  const auto sequence = [&](std::uint64_t seed) {
    Sampling sampling = plain();
    sampling.seed = seed;
    Sampler sampler(sampling);
    std::vector<std::int32_t> out;
    for (int i = 0; i < 64; ++i) out.push_back(choose(sampler, logits));
    return out;
  };
  EXPECT_EQ(sequence(1), sequence(1));
  EXPECT_NE(sequence(1), sequence(2));
}

TEST(Sampler, draws_follow_the_softmax_at_every_temperature) {
  const Logits logits = {0, 1, 2, -1};
  for (const double temperature : {0.5, 1.0, 2.0}) {
    Sampling sampling = plain();
    sampling.temperature = temperature;
    double sum = 0;
    for (const float logit : logits) sum += std::exp(double{logit} / temperature);
    auto drawn = shares(sampling, logits);
    for (std::size_t i = 0; i < logits.size(); ++i) {
      const double expected = std::exp(double{logits[i]} / temperature) / sum;
      const double deviation = std::sqrt(expected * (1 - expected) / kDraws);
      EXPECT_NEAR(drawn[static_cast<std::int32_t>(i)], expected, 4 * deviation) << temperature;
    }
  }
}

TEST(Sampler, top_k_draws_from_the_k_largest_only) {
  Sampling sampling = plain();
  sampling.top_k = 2;
  const auto drawn = shares(sampling, {1, 3, 2, 2});  // 2 and 3 tie: the lower id is in
  EXPECT_THAT(drawn, testing::UnorderedElementsAre(testing::Key(1), testing::Key(2)));
}

TEST(Sampler, top_p_draws_from_the_fewest_tokens_that_reach_p) {
  const Logits logits = {std::log(0.5f), std::log(0.3f), std::log(0.15f), std::log(0.05f)};
  Sampling sampling = plain();
  sampling.top_p = 0.7;  // 0.5 is not enough, 0.8 is
  EXPECT_EQ(shares(sampling, logits).size(), 2u);
  sampling.top_p = 0.01;  // one always stays
  EXPECT_EQ(shares(sampling, logits).size(), 1u);
  sampling.top_p = 0.9;
  EXPECT_EQ(shares(sampling, logits).size(), 3u);
}

TEST(Sampler, min_p_drops_what_is_less_likely_than_a_share_of_the_likeliest) {
  const Logits logits = {std::log(0.6f), std::log(0.25f), std::log(0.1f), std::log(0.05f)};
  Sampling sampling = plain();
  sampling.min_p = 0.2;  // 0.12 of the whole
  EXPECT_EQ(shares(sampling, logits).size(), 2u);
}

TEST(Sampler, the_repetition_penalty_pushes_recent_tokens_away_from_either_sign) {
  Sampler sampler({.temperature = 0, .repetition_penalty = 1.5});
  EXPECT_EQ(choose(sampler, {3, 2.5f, -5}, {0}), 1);        // 3 / 1.5 = 2
  EXPECT_EQ(choose(sampler, {-2, -2.5f, -5}, {0}), 1);      // -2 · 1.5 = -3
  EXPECT_EQ(choose(sampler, {3, 1.9f, -5}, {0, 0, 0}), 0);  // once, however often it came
}

TEST(Sampler, the_penalty_looks_back_no_further_than_its_window) {
  Sampler sampler({.temperature = 0, .repetition_penalty = 2, .repetition_window = 2});
  EXPECT_EQ(choose(sampler, {3, 2, 1}, {0, 2, 2}), 0);
  EXPECT_EQ(choose(sampler, {3, 2, 1}, {2, 0, 2}), 1);
}

TEST(Sampler, a_field_out_of_range_is_named_with_its_value_and_range) {
  const auto message = [](Sampling sampling) {
    const Result<void> checked = check(sampling);
    if (checked.ok()) return std::string("fine");
    EXPECT_EQ(checked.error().code, "PARAM");
    return checked.error().message;
  };
  EXPECT_EQ(message({}), "fine");
  EXPECT_EQ(message({.temperature = -1}), "temperature must be from 0 to 2, but is -1.");
  EXPECT_THAT(message({.temperature = std::nan("")}), HasSubstr("temperature"));
  EXPECT_THAT(message({.top_p = 0}), HasSubstr("top_p must be above 0"));
  EXPECT_THAT(message({.top_p = 1.5}), HasSubstr("is 1.5."));
  EXPECT_THAT(message({.min_p = 1}), HasSubstr("min_p"));
  EXPECT_THAT(message({.repetition_penalty = 0.9}), HasSubstr("repetition_penalty"));
}

// --- under a filter

struct Odd final : TokenFilter {
  bool allows(std::int32_t token) override {
    ++n_asked;
    return token % 2 == 1;
  }
  bool mask(std::span<float> logits) override {
    ++n_masks;
    for (std::size_t i = 0; i < logits.size(); i += 2)
      logits[i] = -std::numeric_limits<float>::infinity();
    return logits.size() > 1;
  }
  int n_asked = 0, n_masks = 0;
};

std::optional<std::int32_t> choose_odd(Sampler& sampler, Logits logits, Odd& odd) {
  return sampler.choose(logits, {}, odd);
}

TEST(FilteredSampler, greedy_asks_about_the_likeliest_and_masks_only_if_it_is_refused) {
  Sampler sampler(Sampling::plain_greedy(0));
  Odd odd;
  EXPECT_EQ(choose_odd(sampler, {1, 5, 2, 4}, odd), 1);
  EXPECT_EQ(odd.n_masks, 0);
  EXPECT_EQ(choose_odd(sampler, {1, 3, 9, 4}, odd), 3);
  EXPECT_EQ(odd.n_masks, 1);
  EXPECT_EQ(choose_odd(sampler, {1}, odd), std::nullopt);
}

TEST(FilteredSampler, draws_as_if_the_others_had_never_been_there) {
  const Logits logits = {3, 0, 2, 1, 4, 2, 5}, allowed = {0, 1, 2};
  for (const std::size_t top_k : {0u, 2u}) {
    Sampling sampling = plain();
    sampling.top_k = top_k;
    const auto expected = shares(sampling, allowed);
    Sampler sampler(sampling);
    std::map<std::int32_t, double> got;
    Odd odd;
    for (std::size_t i = 0; i < kDraws; ++i)
      got[*choose_odd(sampler, logits, odd) / 2] += 1.0 / kDraws;
    EXPECT_EQ(got, expected) << top_k;  // the same seed: draw by draw
  }
}

TEST(FilteredSampler, never_draws_what_is_masked_even_where_little_is_left) {
  Sampler sampler(plain());
  Odd odd;
  for (std::size_t i = 0; i < 1000; ++i) EXPECT_EQ(choose_odd(sampler, {9, -50, 9}, odd), 1);
}

}  // namespace
}  // namespace satchel::runtime
