// Pearson's and Spearman's correlation, by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "runtime/profile/correlation.h"

namespace satchel::runtime {
namespace {

TEST(Correlation, is_pearsons) {
  const std::vector<double> rises = {1, 2, 3, 4}, falls = {8, 6, 4, 2}, wide = {1, 2, 3, 10};
  EXPECT_DOUBLE_EQ(*correlation(rises, rises), 1);
  EXPECT_DOUBLE_EQ(*correlation(rises, falls), -1);
  // Covariance 14, variances 5 and 50.
  EXPECT_NEAR(*correlation(rises, wide), 14 / std::sqrt(250.0), 1e-12);
}

TEST(Correlation, of_what_is_constant_is_nothing) {
  const std::vector<double> rises = {1, 2, 3, 4}, same(4, 3.0);
  EXPECT_EQ(correlation(rises, same), std::nullopt);
  EXPECT_EQ(correlation(same, rises), std::nullopt);
  EXPECT_EQ(correlation({}, {}), std::nullopt);
}

TEST(RankCorrelation, is_spearmans_with_ties_in_the_middle) {
  const std::vector<float> rises = {1, 2, 3, 4}, falls = {9, 7, 5, 1}, ties = {1, 1, 2, 2};
  EXPECT_DOUBLE_EQ(rank_correlation(rises, rises), 1);
  EXPECT_DOUBLE_EQ(rank_correlation(rises, falls), -1);
  // Ranks 0.5, 0.5, 2.5, 2.5: covariance 4, variances 5 and 4.
  EXPECT_NEAR(rank_correlation(rises, ties), 4 / std::sqrt(20.0), 1e-12);
  EXPECT_EQ(rank_correlation(rises, std::vector<float>(4, 3.0f)), 0);
}

TEST(RankCorrelation, ends_where_values_are_no_numbers_and_holds_them_for_the_least) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> rises = {1, 2, 3, 4};
  EXPECT_DOUBLE_EQ(rank_correlation(rises, std::vector<float>{nan, 2, 3, 4}), 1);
  EXPECT_EQ(rank_correlation(rises, std::vector<float>(4, nan)), 0);
}

}  // namespace
}  // namespace satchel::runtime
