// Normalisation, activation and addition of every backend against the reference.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "support/backends.h"
#include "support/weights.h"

namespace satchel::kernels {
namespace {

using test::random_values;

class EveryNorm : public test::OnEveryBackend {};

TEST_P(EveryNorm, rms_norm_is_the_references_in_place_and_apart) {
  for (const std::size_t width : {1u, 7u, 8u, 15u, 16u, 17u, 127u, 128u, 129u, 576u}) {
    for (const std::size_t n_tokens : {0u, 1u, 2u, 33u}) {
      const auto x = random_values(n_tokens * width, width);
      const auto gain = random_values(width, width + 1);
      std::vector<float> want(x.size()), got(x.size());
      ASSERT_TRUE(
          reference().rms_norm(x.data(), gain.data(), n_tokens, width, 1e-5f, want.data()).ok());
      ASSERT_TRUE(
          backend().rms_norm(x.data(), gain.data(), n_tokens, width, 1e-5f, got.data()).ok());
      for (std::size_t i = 0; i < x.size(); ++i)
        ASSERT_NEAR(got[i], want[i], 2e-6f * (1 + std::abs(want[i]))) << width << ", " << i;
      auto in_place = x;
      ASSERT_TRUE(
          backend()
              .rms_norm(in_place.data(), gain.data(), n_tokens, width, 1e-5f, in_place.data())
              .ok());
      EXPECT_EQ(in_place, got);
    }
  }
}

TEST_P(EveryNorm, rms_norm_of_zeros_is_zero_and_of_large_values_finite) {
  std::vector<float> x(40, 0.0f), gain(40, 2.0f), out(40, 1.0f);
  ASSERT_TRUE(backend().rms_norm(x.data(), gain.data(), 1, 40, 1e-5f, out.data()).ok());
  EXPECT_EQ(out, x);
  x.assign(40, -1e15f);
  ASSERT_TRUE(backend().rms_norm(x.data(), gain.data(), 1, 40, 1e-5f, out.data()).ok());
  for (const float value : out) EXPECT_NEAR(value, -2.0f, 1e-5f);
}

TEST_P(EveryNorm, rows_are_gated_by_one_number_each) {
  const std::vector<float> x = random_values(300 * 70, 1);
  std::vector<float> gate = random_values(300, 2), got = x;
  gate[0] = 0;
  gate[1] = -40;
  ASSERT_TRUE(backend().gate_rows(got.data(), gate.data(), 300, 70).ok());
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_NEAR(got[i], x[i] / (1 + std::exp(-gate[i / 70])), 1e-6f * (1 + std::abs(x[i]))) << i;
}

constexpr Activation kActivations[] = {Activation::silu, Activation::gelu_tanh,
                                       Activation::clamped_silu, Activation::sigmoid,
                                       Activation::relu};

TEST_P(EveryNorm, gated_units_are_the_references_over_the_whole_range) {
  for (const Activation activation : kActivations)
    for (const std::size_t n : {0u, 1u, 15u, 16u, 17u, 1536u, 40000u}) {
      auto gate = random_values(n, n);
      for (std::size_t i = 0; i < n; ++i) gate[i] *= static_cast<float>(i % 7);
      if (n > 20) {
        gate[3] = -200.0f;
        gate[4] = 200.0f;
        gate[5] = -88.5f;
        gate[6] = 0.0f;
      }
      const auto up = random_values(n, n + 1);
      auto got = gate, want = gate;
      ASSERT_TRUE(reference().glu(activation, want.data(), up.data(), n).ok());
      ASSERT_TRUE(backend().glu(activation, got.data(), up.data(), n).ok());
      // Where x³ is large, roundings of fp32 in the exponent show.
      const float limit = activation == Activation::silu ? 1e-6f : 2e-5f;
      for (std::size_t i = 0; i < n; ++i)
        ASSERT_NEAR(got[i], want[i], limit * std::abs(want[i]) + 1e-30f) << "gate " << gate[i];
    }
}

TEST_P(EveryNorm, gated_units_pass_a_nan_on) {
  for (const Activation activation : kActivations) {
    std::vector<float> gate(20, 1.0f), up(20, 1.0f);
    gate[2] = std::nanf("");
    up[17] = std::nanf("");
    ASSERT_TRUE(backend().glu(activation, gate.data(), up.data(), 20).ok());
    for (std::size_t i = 0; i < 20; ++i)
      EXPECT_EQ(std::isnan(gate[i]), i == 2 || i == 17) << "value " << i;
  }
}

TEST_P(EveryNorm, a_relu_gated_by_itself_is_squared) {
  for (const std::size_t n : {1u, 17u, 40u}) {
    auto x = random_values(n, n);
    const auto before = x;
    ASSERT_TRUE(backend().glu(Activation::relu, x.data(), x.data(), n).ok());
    for (std::size_t i = 0; i < n; ++i)
      EXPECT_EQ(x[i], before[i] < 0 ? 0.0f : before[i] * before[i]) << i;
  }
}

TEST_P(EveryNorm, add_is_exact) {
  for (const std::size_t n : {0u, 1u, 15u, 16u, 17u, 576u, 50000u}) {
    auto got = random_values(n, n);
    auto want = got;
    const auto y = random_values(n, n + 1);
    ASSERT_TRUE(reference().add(want.data(), y.data(), n).ok());
    ASSERT_TRUE(backend().add(got.data(), y.data(), n).ok());
    EXPECT_EQ(got, want);
  }
}

TEST_P(EveryNorm, scale_is_exact) {
  for (const std::size_t n : {0u, 1u, 17u, 50000u}) {
    auto got = random_values(n, n);
    auto want = got;
    ASSERT_TRUE(reference().scale(want.data(), 8.4852814f, n).ok());
    ASSERT_TRUE(backend().scale(got.data(), 8.4852814f, n).ok());
    EXPECT_EQ(got, want);
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, EveryNorm, testing::ValuesIn(test::backend_rows()),
                         test::row_name);

TEST(Reference, normalises_and_gates_as_written_by_hand) {
  auto backend = test::open_reference();
  const float x[] = {3, -4}, gain[] = {1, 10};
  float out[2];
  ASSERT_TRUE(backend->rms_norm(x, gain, 1, 2, 0.0f, out).ok());
  EXPECT_FLOAT_EQ(out[0], 3 / std::sqrt(12.5f));
  EXPECT_FLOAT_EQ(out[1], -40 / std::sqrt(12.5f));
  float gate[] = {0, 1, -1};
  const float up[] = {5, 2, 1};
  ASSERT_TRUE(backend->glu(Activation::silu, gate, up, 3).ok());
  EXPECT_EQ(gate[0], 0.0f);
  EXPECT_FLOAT_EQ(gate[1], 1.4621172f);
  EXPECT_FLOAT_EQ(gate[2], -0.26894143f);
  float gelu[] = {0, 1, -1};
  ASSERT_TRUE(backend->glu(Activation::gelu_tanh, gelu, up, 3).ok());
  EXPECT_EQ(gelu[0], 0.0f);
  EXPECT_FLOAT_EQ(gelu[1], 2 * 0.84119199f);
  EXPECT_FLOAT_EQ(gelu[2], -0.15880801f);
  float clamped[] = {1, 9, -9};
  const float beside[] = {2, -8, 8};
  ASSERT_TRUE(backend->glu(Activation::clamped_silu, clamped, beside, 3).ok());
  EXPECT_FLOAT_EQ(clamped[0], 3 / (1 + std::exp(-1.702f)));
  EXPECT_FLOAT_EQ(clamped[1], 7 / (1 + std::exp(-7 * 1.702f)) * -6);
  EXPECT_NEAR(clamped[2], -9 / (1 + std::exp(9 * 1.702f)) * 8, 1e-10f);
  float sigmoid[] = {0, 2, -2};
  ASSERT_TRUE(backend->glu(Activation::sigmoid, sigmoid, up, 3).ok());
  for (std::size_t i = 0; i < 3; ++i) {
    const float gates[] = {0.5f, 0.88079708f, 0.11920292f};
    EXPECT_FLOAT_EQ(sigmoid[i], gates[i] * up[i]);
  }
}

}  // namespace
}  // namespace satchel::kernels
