// Learning what keys are worth: by hand and from a planted rule.
#include "runtime/profile/key_importance_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/base/rng.h"
#include "runtime/profile/correlation.h"

namespace satchel::runtime {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::FloatNear;

KeyImportanceFit fit_of(std::size_t head_dim, const std::vector<float>& keys,
                        const std::vector<float>& scores) {
  KeyImportanceFit fit(std::vector<std::size_t>{head_dim});
  fit.add(0, keys, scores);
  return fit;
}

// Keys -1 and 1 have the same square, so all is linear: slope cov / (1.02 · var) = 0.5 / 1.02, and
// the mean of the logarithms is the bias.
TEST(KeyImportanceFit, is_a_ridge_regression_by_hand) {
  const auto weights = fit_of(1, {-1, 1}, {std::exp(-1.5f), std::exp(-0.5f)}).solve(0);
  EXPECT_THAT(weights, ElementsAre(FloatNear(-1, 1e-5f), FloatNear(0.5f / 1.02f, 1e-5f),
                                   FloatNear(0, 1e-5f)));
}

TEST(KeyImportanceFit, holds_scores_below_a_millionth_for_a_millionth) {
  const auto weights = fit_of(1, {-1, 1}, {0, 1e-6f}).solve(0);
  EXPECT_NEAR(weights[0], std::log(1e-6), 1e-4);
  EXPECT_NEAR(weights[1], 0, 1e-5);
}

TEST(KeyImportanceFit, finds_a_planted_rule_and_ranks_keys_that_it_has_not_seen) {
  constexpr std::size_t kDim = 16, kKeys = 1000;
  Rng rng(3);
  const auto uniform = [&rng] { return static_cast<float>(rng.uniform()) * 4 - 2; };
  const auto make = [&](std::vector<float>& keys, std::vector<float>& scores) {
    for (std::size_t t = 0; t < kKeys; ++t) {
      for (std::size_t c = 0; c < kDim; ++c) keys.push_back(uniform());
      const float* k = keys.data() + t * kDim;
      scores.push_back(std::exp(-6 + k[0] - 0.5f * k[1] + 0.75f * k[2] * k[2]));
    }
  };
  std::vector<float> keys, scores, new_keys, new_scores;
  make(keys, scores);
  make(new_keys, new_scores);
  const auto weights = fit_of(kDim, keys, scores).solve(0);
  EXPECT_NEAR(weights[1], 1, 0.05);
  EXPECT_NEAR(weights[2], -0.5, 0.05);
  EXPECT_NEAR(weights[1 + kDim + 2], 0.75, 0.05);
  EXPECT_GT(rank_correlation(log_importance(weights, new_keys), new_scores), 0.99);
  // A lane with its keys in two parts is the same lane.
  KeyImportanceFit parts(std::vector<std::size_t>{kDim});
  const std::size_t half = kKeys / 2;
  parts.add(0, std::span(keys).first(half * kDim), std::span(scores).first(half));
  parts.add(0, std::span(keys).subspan(half * kDim), std::span(scores).subspan(half));
  const auto again = parts.solve(0);
  for (std::size_t i = 0; i < weights.size(); ++i) EXPECT_NEAR(again[i], weights[i], 1e-5);
}

TEST(KeyImportanceFit, knows_nothing_of_what_it_has_not_seen_and_leaves_out_what_is_no_number) {
  KeyImportanceFit fit(std::vector<std::size_t>{2, 2});
  EXPECT_THAT(fit.solve(0), Each(0.0f));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  fit.add(0, std::vector<float>{1, 2, nan, 0, -1, 5, 3, 3},
          std::vector<float>{0.5f, 0.1f, 0.25f, nan});
  KeyImportanceFit without(std::vector<std::size_t>{2, 2});
  without.add(0, std::vector<float>{1, 2, -1, 5}, std::vector<float>{0.5f, 0.25f});
  EXPECT_EQ(fit.solve(0), without.solve(0));
}

// A value that is always the same says nothing, and must not spoil the rest.
TEST(KeyImportanceFit, stands_values_that_never_change) {
  const auto weights = fit_of(2, {-1, 7, 1, 7}, {std::exp(-1.5f), std::exp(-0.5f)}).solve(0);
  for (const float weight : weights) EXPECT_TRUE(std::isfinite(weight));
  EXPECT_NEAR(log_importance(weights, std::vector<float>{1, 7})[0], -1 + 0.5 / 1.02, 1e-3);
}

TEST(KeyImportanceFit, says_what_it_takes_beforehand) {
  EXPECT_EQ(KeyImportanceFit::bytes(std::vector<std::size_t>{1, 3}),
            (4 * 4 + 8 * 8) * sizeof(double));
}

}  // namespace
}  // namespace satchel::runtime
