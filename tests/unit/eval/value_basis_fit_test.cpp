// Coordinates of values: what was planted is found.
#include "app/eval/calibration/value_basis_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/base/rng.h"

namespace satchel::eval {
namespace {

constexpr std::size_t kDim = 16, kTokens = 4 + 128 * 40;

kvcache::CacheShape shape() {
  kvcache::CacheShape of;
  of.layers = {{.n_heads = 2, .n_kv_heads = 2, .head_dim = kDim}};
  return of;
}
double along(const std::vector<float>& matrix, std::size_t column, const std::vector<double>& v) {
  double sum = 0;
  for (std::size_t i = 0; i < kDim; ++i)
    sum += static_cast<double>(matrix[i * kDim + column]) * v[i];
  return std::abs(sum);
}

// Two directions, one twice as strong, above a little noise and beside a mean that changes from
// page to page; rows of two lanes, the second all equal.
TEST(ValueBasisFit, finds_the_directions_of_values_about_their_page_s_mean_largest_first) {
  std::vector<double> a(kDim), b(kDim);
  for (std::size_t i = 0; i < kDim; ++i) {
    a[i] = (i % 2 == 0 ? 1.0 : -1.0) / 4;
    b[i] = (i % 4 < 2 ? 1.0 : -1.0) / 4;
  }
  Rng rng(5);
  std::vector<float> rows;
  for (std::size_t t = 0; t < kTokens; ++t) {
    const double x = 4 * (rng.uniform() - 0.5), y = 2 * (rng.uniform() - 0.5);
    const double page = t < 4 ? 1000 : 100.0 * static_cast<double>((t - 4) / 128 % 3);
    for (std::size_t i = 0; i < kDim; ++i)
      rows.push_back(static_cast<float>(x * a[i] + y * b[i] + page + 0.01 * (rng.uniform() - 0.5)));
    rows.insert(rows.end(), kDim, 7.0f);
  }
  rows[600 * 2 * kDim] = std::numeric_limits<float>::quiet_NaN();  // a row that is passed over
  ValueBasisFit fit(shape());
  for (const std::size_t lane : {0u, 1u})
    fit.add(lane, {.first = rows.data() + lane * kDim, .n = kTokens, .stride = 2 * kDim});
  const ValueBasis found = fit.solve(0);
  EXPECT_NEAR(along(found.values, 0, a), 1, 1e-3);
  EXPECT_NEAR(along(found.values, 1, b), 1, 1e-3);
  EXPECT_GT(found.share_of_fifth, 0.99);  // three of sixteen
  const ValueBasis dead = fit.solve(1);
  EXPECT_EQ(dead.share_of_fifth, 1);
  for (std::size_t i = 0; i < kDim * kDim; ++i)
    EXPECT_EQ(dead.values[i], i % (kDim + 1) == 0 ? 1 : 0);
}

}  // namespace
}  // namespace satchel::eval
