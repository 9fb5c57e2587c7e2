// What keys matter by themselves, of every backend against the reference.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support/backends.h"
#include "support/weights.h"

namespace satchel::kernels {
namespace {

using test::random_values;

class EveryKeyWorth : public test::OnEveryBackend {};

TEST_P(EveryKeyWorth, is_the_exp_of_a_quadratic_form_by_hand) {
  // Two keys of two values, three floats apart: ln 2 + 1·k0 - 0.5·k1 + 0.25·k0².
  const std::vector<float> k = {2, 4, 99, 0, -2, 99};
  const std::vector<float> weights = {std::log(2.0f), 1, -0.5f, 0.25f, 0};
  std::vector<float> scores(2, -1.0f);
  const KeyImportanceArgs args{.k = k.data(),
                               .n_tokens = 2,
                               .head_dim = 2,
                               .stride = 3,
                               .weights = weights,
                               .scores = scores.data()};
  ASSERT_TRUE(backend().key_importance({&args, 1}).ok());
  EXPECT_NEAR(scores[0], 2 * std::exp(1.0), 1e-5);  // 2 - 2 + 1
  EXPECT_NEAR(scores[1], 2 * std::exp(1.0), 1e-5);  // 0 + 1 + 0
}

TEST_P(EveryKeyWorth, is_the_references_for_every_head_size_and_length) {
  for (const std::size_t d : {1u, 7u, 8u, 16u, 33u, 64u, 80u, 96u, 128u, 256u})
    for (const std::size_t n : {0u, 1u, 127u, 300u}) {
      const std::size_t n_heads = 3, stride = n_heads * d;
      const auto k = random_values(n * stride, d + n);
      std::vector<std::vector<float>> weights, want, got;
      std::vector<KeyImportanceArgs> wanted, asked;
      for (std::size_t h = 0; h < n_heads; ++h) {
        weights.push_back(random_values(1 + 2 * d, h));
        for (float& w : weights.back()) w /= std::sqrt(static_cast<float>(d));
        want.emplace_back(n, -1.0f);
        got.emplace_back(n, -1.0f);
      }
      for (std::size_t h = 0; h < n_heads; ++h) {
        wanted.push_back({.k = k.data() + h * d,
                          .n_tokens = n - std::min(n, h),  // not all alike
                          .head_dim = d,
                          .stride = stride,
                          .weights = weights[h],
                          .scores = want[h].data()});
        asked.push_back(wanted.back());
        asked.back().scores = got[h].data();
      }
      ASSERT_TRUE(reference().key_importance(wanted).ok());
      ASSERT_TRUE(backend().key_importance(asked).ok());
      for (std::size_t h = 0; h < n_heads; ++h)
        for (std::size_t t = 0; t < n; ++t) {
          // A rounding of the sum is one of its exp, times the sum.
          const float roundings = want[h][t] > 0 ? 1e-6f * std::abs(std::log(want[h][t])) : 0;
          ASSERT_NEAR(got[h][t], want[h][t], (2e-5f + roundings) * std::abs(want[h][t]))
              << d << ", " << t;
        }
    }
}

TEST_P(EveryKeyWorth, is_finite_whatever_the_keys_are) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> k = {1e30f, -1e30f, kNan, kInfinity, 0}, weights = {0, 1, 0};
  std::vector<float> scores(k.size());
  const KeyImportanceArgs args{.k = k.data(),
                               .n_tokens = k.size(),
                               .head_dim = 1,
                               .stride = 1,
                               .weights = weights,
                               .scores = scores.data()};
  ASSERT_TRUE(backend().key_importance({&args, 1}).ok());
  const auto most = static_cast<float>(std::exp(kKeyImportanceMax));
  EXPECT_FLOAT_EQ(scores[0], most);
  EXPECT_FLOAT_EQ(scores[1], 1 / most);
  EXPECT_FLOAT_EQ(scores[2], 1 / most);
  EXPECT_TRUE(std::isfinite(scores[3]) && scores[3] > 0);  // infinity times 0 is no number
  EXPECT_FLOAT_EQ(scores[4], 1);
}

INSTANTIATE_TEST_SUITE_P(Backends, EveryKeyWorth, testing::ValuesIn(test::backend_rows()),
                         test::row_name);

}  // namespace
}  // namespace satchel::kernels
