// Rotary positions of every backend against the reference.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "support/backends.h"
#include "support/weights.h"

namespace satchel::kernels {
namespace {

using test::random_values;

std::vector<double> frequencies(std::size_t n_rotated) {
  std::vector<double> out(n_rotated / 2);
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = std::pow(1e5, -2.0 * static_cast<double>(i) / static_cast<double>(n_rotated));
  return out;
}

class EveryRope : public test::OnEveryBackend {};

TEST_P(EveryRope, is_the_references_for_both_orders_and_partial_heads) {
  const std::size_t shapes[][3] = {{64, 64, 9}, {64, 32, 3}, {128, 128, 2},
                                   {80, 80, 1}, {10, 6, 5},  {256, 256, 1}};
  for (const auto& [head_dim, n_rotated, n_heads] : shapes) {
    for (const std::size_t n_tokens : {0u, 1u, 2u, 9u, 130u}) {
      for (const RopePairs pairs : {RopePairs::adjacent, RopePairs::halves}) {
        const auto x = random_values(n_tokens * n_heads * head_dim, head_dim + n_tokens);
        std::vector<std::int32_t> positions(n_tokens);
        for (std::size_t t = 0; t < n_tokens; ++t)
          positions[t] = static_cast<std::int32_t>(t * 7919 % 1'000'003);
        const auto inverse = frequencies(n_rotated);
        auto got = x, want = x;
        RopeArgs args{.x = got.data(),
                      .n_tokens = n_tokens,
                      .n_heads = n_heads,
                      .head_dim = head_dim,
                      .positions = positions,
                      .inverse_frequency = inverse,
                      .pairs = pairs};
        ASSERT_TRUE(backend().rope(args).ok());
        args.x = want.data();
        ASSERT_TRUE(reference().rope(args).ok());
        for (std::size_t i = 0; i < x.size(); ++i)
          ASSERT_NEAR(got[i], want[i], 4e-6f)  // values reach 35: one or two roundings
              << "head_dim " << head_dim << ", token " << i / (n_heads * head_dim);
      }
    }
  }
}

TEST_P(EveryRope, far_positions_keep_their_phase) {
  const auto inverse = frequencies(64);
  for (const std::int32_t position : {131'072, 1'000'000, 2'147'483'647}) {
    auto got = random_values(64, 3);
    auto want = got;
    RopeArgs args{.x = got.data(),
                  .n_tokens = 1,
                  .n_heads = 1,
                  .head_dim = 64,
                  .positions = {&position, 1},
                  .inverse_frequency = inverse,
                  .pairs = RopePairs::halves};
    ASSERT_TRUE(backend().rope(args).ok());
    args.x = want.data();
    ASSERT_TRUE(reference().rope(args).ok());
    for (std::size_t i = 0; i < 64; ++i) ASSERT_NEAR(got[i], want[i], 2e-5f) << position;
  }
}

TEST_P(EveryRope, position_zero_changes_nothing) {
  const auto x = random_values(3 * 64, 4);
  auto got = x;
  const std::int32_t position = 0;
  const auto inverse = frequencies(64);
  ASSERT_TRUE(backend()
                  .rope({.x = got.data(),
                         .n_tokens = 1,
                         .n_heads = 3,
                         .head_dim = 64,
                         .positions = {&position, 1},
                         .inverse_frequency = inverse})
                  .ok());
  EXPECT_EQ(got, x);
}

INSTANTIATE_TEST_SUITE_P(Backends, EveryRope, testing::ValuesIn(test::backend_rows()),
                         test::row_name);

TEST(Reference, rotates_as_written_by_hand) {
  auto backend = test::open_reference();
  const double quarter[] = {std::acos(0.0), 0.0};  // the first pair turns by 90 degrees
  const std::int32_t position = 1;
  for (const RopePairs pairs : {RopePairs::adjacent, RopePairs::halves}) {
    float x[] = {1, 2, 3, 4, 5};  // head_dim 5: the last is not rotated
    ASSERT_TRUE(backend
                    ->rope({.x = x,
                            .n_tokens = 1,
                            .n_heads = 1,
                            .head_dim = 5,
                            .positions = {&position, 1},
                            .inverse_frequency = quarter,
                            .pairs = pairs})
                    .ok());
    const bool adjacent = pairs == RopePairs::adjacent;
    const float want[] = {adjacent ? -2.0f : -3.0f, adjacent ? 1.0f : 2.0f, adjacent ? 3.0f : 1.0f,
                          4.0f, 5.0f};
    for (int i = 0; i < 5; ++i) EXPECT_NEAR(x[i], want[i], 1e-6f) << i;
  }
}

}  // namespace
}  // namespace satchel::kernels
