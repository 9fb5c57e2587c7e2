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

// What a head is to be rotated by.
struct Rotated {
  std::size_t n_heads = 1, head_dim = 64;
  std::span<const std::int32_t> positions;
  std::span<const double> inverse;
  RopePairs pairs = RopePairs::adjacent;
};

// Rotates x in place by a table that the backend makes itself.
void rotate(Backend& backend, const Rotated& rotated, float* x) {
  const std::size_t n = rotated.positions.size();
  std::vector<float> rotation(n * 2 * rotated.inverse.size());
  const RopeTable table{.inverse_frequency = rotated.inverse, .pairs = rotated.pairs};
  ASSERT_TRUE(backend
                  .make_rotation({.positions = rotated.positions.data(), .n_tokens = n}, table,
                                 rotation.data())
                  .ok());
  ASSERT_TRUE(backend
                  .rope({.q = x,
                         .n_tokens = n,
                         .n_heads = rotated.n_heads,
                         .head_dim = rotated.head_dim,
                         .rotation = rotation.data(),
                         .n_rotated = 2 * rotated.inverse.size(),
                         .pairs = rotated.pairs})
                  .ok());
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
        const Rotated rotated{n_heads, head_dim, positions, inverse, pairs};
        rotate(backend(), rotated, got.data());
        rotate(reference(), rotated, want.data());
        for (std::size_t i = 0; i < x.size(); ++i)
          ASSERT_NEAR(got[i], want[i], 4e-6f)  // values reach 35: one or two roundings
              << "head_dim " << head_dim << ", token " << i / (n_heads * head_dim);
      }
    }
  }
}

TEST_P(EveryRope, of_queries_and_keys_together_gives_the_bytes_of_each_alone) {
  constexpr std::size_t kDim = 64, kHeads = 6, kKvHeads = 2, kTokens = 19, kRotated = 48;
  const auto rotation = random_values(kTokens * kRotated, 1);
  for (const RopePairs pairs : {RopePairs::adjacent, RopePairs::halves}) {
    auto q = random_values(kTokens * kHeads * kDim, 2), q_alone = q;
    auto k = random_values(kTokens * kKvHeads * kDim, 3), k_alone = k;
    RopeArgs args{.n_tokens = kTokens,
                  .head_dim = kDim,
                  .rotation = rotation.data(),
                  .n_rotated = kRotated,
                  .pairs = pairs};
    args.q = q_alone.data(), args.n_heads = kHeads;
    ASSERT_TRUE(backend().rope(args).ok());
    args.q = k_alone.data(), args.n_heads = kKvHeads;
    ASSERT_TRUE(backend().rope(args).ok());
    args.q = q.data(), args.n_heads = kHeads;
    args.k = k.data(), args.n_kv_heads = kKvHeads;
    ASSERT_TRUE(backend().rope(args).ok());
    EXPECT_EQ(q, q_alone);
    EXPECT_EQ(k, k_alone);
  }
}

TEST_P(EveryRope, far_positions_keep_their_phase) {
  const auto inverse = frequencies(64);
  for (const std::int32_t position : {131'072, 1'000'000, 2'147'483'647}) {
    auto got = random_values(64, 3);
    auto want = got;
    const Rotated rotated{1, 64, {&position, 1}, inverse, RopePairs::halves};
    rotate(backend(), rotated, got.data());
    rotate(reference(), rotated, want.data());
    for (std::size_t i = 0; i < 64; ++i) ASSERT_NEAR(got[i], want[i], 2e-5f) << position;
  }
}

TEST_P(EveryRope, position_zero_changes_nothing) {
  const auto x = random_values(3 * 64, 4);
  auto got = x;
  const std::int32_t position = 0;
  const auto inverse = frequencies(64);
  rotate(backend(), {3, 64, {&position, 1}, inverse, RopePairs::adjacent}, got.data());
  EXPECT_EQ(got, x);
}

TEST_P(EveryRope, a_rotation_is_cosine_and_sine_of_the_phase_to_the_last_bit_or_one_beside) {
  const auto inverse = frequencies(70);
  const std::int32_t positions[] = {0, 1, 31'337, -5, 2'147'483'647};
  std::vector<float> rotation(5 * 70);
  ASSERT_TRUE(backend()
                  .make_rotation({.positions = positions, .n_tokens = 5},
                                 {.inverse_frequency = inverse}, rotation.data())
                  .ok());
  for (std::size_t t = 0; t < 5; ++t) {
    for (std::size_t i = 0; i < 35; ++i) {
      const double phase = static_cast<double>(positions[t]) * inverse[i];
      EXPECT_NEAR(rotation[2 * (t * 35 + i)], std::cos(phase), 1e-7) << t << " " << i;
      EXPECT_NEAR(rotation[2 * (t * 35 + i) + 1], std::sin(phase), 1e-7) << t << " " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, EveryRope, testing::ValuesIn(test::backend_rows()),
                         test::row_name);

TEST(Reference, rotates_as_written_by_hand) {
  auto backend = test::open_reference();
  const double quarter[] = {std::acos(0.0), 0.0};  // the first pair turns by 90 degrees
  const std::int32_t position = 1;
  for (const RopePairs pairs : {RopePairs::adjacent, RopePairs::halves}) {
    float x[] = {1, 2, 3, 4, 5};  // head_dim 5: the last is not rotated
    rotate(*backend, {1, 5, {&position, 1}, quarter, pairs}, x);
    const bool adjacent = pairs == RopePairs::adjacent;
    const float want[] = {adjacent ? -2.0f : -3.0f, adjacent ? 1.0f : 2.0f, adjacent ? 3.0f : 1.0f,
                          4.0f, 5.0f};
    for (int i = 0; i < 5; ++i) EXPECT_NEAR(x[i], want[i], 1e-6f) << i;
  }
}

}  // namespace
}  // namespace satchel::kernels
