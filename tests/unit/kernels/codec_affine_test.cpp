// The quantiser: the specification's table, the bound. Pages: page_codec_test.cpp.
#include "kernels/reference/codec_affine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support/lanes.h"

namespace satchel::kernels {
namespace {

using test::random_halves;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

struct Row {
  std::vector<float> x;
  std::size_t bits;
  float scale, zero;
  std::vector<std::uint8_t> codes;
};

TEST(CodecAffine, the_table_of_the_specification) {
  const Row rows[] = {
      {{0, 1, 2, 3}, 2, 1, 0, {0, 1, 2, 3}},
      {{-1, -0.4f, 0.3f, 2}, 2, 1, -1, {0, 1, 1, 3}},
      {{0, 0.5f, 1.5f, 3}, 2, 1, 0, {0, 0, 2, 3}},
      {{-3, -1.5f, 0, 0.9f, 4.5f, 7.49f, 12}, 4, 1, -3, {0, 2, 3, 4, 8, 10, 15}},
      {{5, 5, 5, 5}, 2, 0, 5, {0, 0, 0, 0}},
      {{5, 5, 5, 5}, 8, 0, 5, {0, 0, 0, 0}},
      {{1, kNaN, kInf, 3}, 4, 4000, 0, {0, 0, 15, 0}},
  };
  for (const Row& row : rows) {
    auto x = row.x;
    std::vector<std::uint8_t> codes(x.size());
    Health health;
    const auto group = reference::encode_group(x, row.bits, codes, health);
    EXPECT_EQ(half_to_float(group.scale), row.scale);
    EXPECT_EQ(half_to_float(group.zero), row.zero);
    EXPECT_EQ(codes, row.codes);
    EXPECT_EQ(health.n_nan, std::isnan(row.x[1]) ? 1u : 0u);
    EXPECT_EQ(health.n_infinite, std::isinf(row.x[2]) ? 1u : 0u);
  }
}

TEST(CodecAffine, a_rising_column_as_in_kivi) {
  std::vector<float> x(32);
  for (std::size_t t = 0; t < 32; ++t) x[t] = static_cast<float>(t);
  std::vector<std::uint8_t> codes(32);
  Health health;
  const auto group = reference::encode_group(x, 2, codes, health);
  EXPECT_EQ(half_to_float(group.scale), 10.3359375f);
  for (std::size_t t = 0; t < 32; ++t)
    EXPECT_EQ(codes[t], t <= 5 ? 0 : t <= 15 ? 1 : t <= 25 ? 2 : 3) << t;
}

TEST(CodecAffine, the_error_is_at_most_half_a_step_at_every_magnitude) {
  for (const double size : {1e-7, 1e-4, 1.0, 300.0, 50000.0}) {
    for (const std::size_t bits : {2u, 4u, 8u}) {
      for (std::uint64_t seed = 0; seed < 50; ++seed) {
        const auto halves = random_halves(16, 64, seed);
        std::vector<float> x(16);
        for (std::size_t i = 0; i < 16; ++i)
          x[i] = half_to_float(halves[i]) * static_cast<float>(size * 0.4) +
                 static_cast<float>(size * (seed % 3 == 0 ? 0.2 : -0.1));
        std::vector<std::uint8_t> codes(16);
        Health health;
        const auto group = reference::encode_group(x, bits, codes, health);
        const float half_step = half_to_float(group.scale) / 2;
        for (std::size_t i = 0; i < 16; ++i)
          EXPECT_LE(std::abs(x[i] - reference::decode_value(group, codes[i])),
                    half_step + std::abs(x[i]) * 3e-7f + half_step * 3e-6f)
              << size << " " << bits << " " << i;
      }
    }
  }
}

}  // namespace
}  // namespace satchel::kernels
