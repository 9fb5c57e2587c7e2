// The quantiser: the specification's table, the bound. Pages: page_codec_test.cpp.
#include "kernels/reference/codec_affine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "kernels/base/rng.h"
#include "support/lanes.h"

namespace satchel::kernels {
namespace {

using test::random_halves;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<float> normal_values(std::size_t n, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<float> out;
  for (std::size_t i = 0; i < n; ++i) {  // Box and Muller
    const double radius = std::sqrt(-2 * std::log(1 - rng.uniform()));
    out.push_back(static_cast<float>(radius * std::cos(6.283185307179586 * rng.uniform())));
  }
  return out;
}

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
    NumericWarnings warnings;
    const auto group = reference::encode_group(x, {.bits = row.bits}, codes, warnings);
    EXPECT_EQ(half_to_float(group.scale), row.scale);
    EXPECT_EQ(half_to_float(group.zero), row.zero);
    EXPECT_EQ(codes, row.codes);
    EXPECT_EQ(warnings.n_nan, std::isnan(row.x[1]) ? 1u : 0u);
    EXPECT_EQ(warnings.n_infinite, std::isinf(row.x[2]) ? 1u : 0u);
  }
}

TEST(CodecAffine, a_rising_column_as_in_kivi) {
  std::vector<float> x(32);
  for (std::size_t t = 0; t < 32; ++t) x[t] = static_cast<float>(t);
  std::vector<std::uint8_t> codes(32);
  NumericWarnings warnings;
  const auto group = reference::encode_group(x, {.bits = 2}, codes, warnings);
  EXPECT_EQ(half_to_float(group.scale), 10.3359375f);
  for (std::size_t t = 0; t < 32; ++t)
    EXPECT_EQ(codes[t], t <= 5 ? 0 : t <= 15 ? 1 : t <= 25 ? 2 : 3) << t;
}

TEST(CodecAffine, the_error_is_at_most_half_a_step_at_every_magnitude) {
  for (const double size : {1e-7, 1e-4, 1.0, 300.0, 50000.0}) {
    for (const std::size_t bits : {2u, 3u, 4u, 8u}) {
      for (std::uint64_t seed = 0; seed < 50; ++seed) {
        const auto halves = random_halves(16, 64, seed);
        std::vector<float> x(16);
        for (std::size_t i = 0; i < 16; ++i)
          x[i] = half_to_float(halves[i]) * static_cast<float>(size * 0.4) +
                 static_cast<float>(size * (seed % 3 == 0 ? 0.2 : -0.1));
        std::vector<std::uint8_t> codes(16);
        NumericWarnings warnings;
        const auto group = reference::encode_group(x, {.bits = bits}, codes, warnings);
        const float half_step = half_to_float(group.scale) / 2;
        for (std::size_t i = 0; i < 16; ++i)
          EXPECT_LE(std::abs(x[i] - reference::decode_value({.bits = bits}, group, codes[i])),
                    half_step + std::abs(x[i]) * 3e-7f + half_step * 3e-6f)
              << size << " " << bits << " " << i;
      }
    }
  }
}

struct Coded {
  float scale;
  std::vector<std::uint8_t> codes;
};
Coded coded(const reference::AffineKind& kind, std::vector<float> x) {
  std::vector<std::uint8_t> codes(x.size());
  NumericWarnings warnings;
  const auto group = reference::encode_group(x, kind, codes, warnings);
  return {half_to_float(group.scale), codes};
}

TEST(CodecAffine, symmetric_codes_stand_for_odd_halves_of_a_step) {
  const reference::AffineKind three{.bits = 3, .symmetric = true};
  const Coded odd = coded(three, {-7, -5, -3, -1, 1, 3, 5, 7});
  EXPECT_EQ(odd.scale, 2);
  EXPECT_EQ(odd.codes, (std::vector<std::uint8_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  // 2 / step + 3.5 = 4.5 is halfway between two codes: the even one, as for 0 and -2
  EXPECT_EQ(coded(three, {7, 2, 0, -2, 6.9f}).codes, (std::vector<std::uint8_t>{7, 4, 4, 2, 7}));
  EXPECT_EQ(coded({.bits = 2, .symmetric = true}, {-3, 3, 0.9f, -1.1f}).codes,
            (std::vector<std::uint8_t>{0, 3, 2, 1}));
  const Coded none = coded(three, {0, -0.0f, 0, 0});
  EXPECT_EQ(none.scale, 0);
  EXPECT_EQ(none.codes, (std::vector<std::uint8_t>{0, 0, 0, 0}));
  EXPECT_EQ(reference::decode_value(three, {.scale = float_to_half(2)}, 0), -7);
  EXPECT_EQ(reference::decode_value(three, {.scale = float_to_half(2)}, 4), 1);
  EXPECT_EQ(half_to_float(float_to_half_up(14.2f / 7)), coded(three, {-7.1f, 1, 2, 3}).scale);
}

// Seven tenths of 10 give the step 2, at which all but the 10 are met: an error of 9. The whole
// range has the step 20 / 7, whose squared errors at 7, 5, 3 and 1 are 0.02, 0.51, 1.65 and 0.18,
// eight times.
TEST(CodecAffine, a_clipped_range_gives_up_what_is_rare) {
  std::vector<float> x;
  for (std::size_t i = 0; i < 8; ++i)
    for (const float odd : {7.0f, -5.0f, 3.0f, -1.0f}) x.push_back(i % 2 == 0 ? odd : -odd);
  x.push_back(10);
  const Coded wide = coded({.bits = 3, .symmetric = true}, x);
  EXPECT_EQ(wide.scale, half_to_float(float_to_half_up(20.0f / 7)));
  EXPECT_EQ(wide.codes.back(), 7);
  EXPECT_EQ(wide.codes[0], 6);
  const Coded clipped = coded({.bits = 3, .symmetric = true, .clips = true}, x);
  EXPECT_EQ(clipped.scale, 2);
  for (std::size_t i = 0; i < x.size(); ++i)
    EXPECT_EQ(clipped.codes[i], std::min(7.0f, x[i] / 2 + 3.5f));
  // A wider range is kept where it is as good: nothing errs.
  const Coded exact = coded({.bits = 8, .clips = true}, {0, 1, 2, 3, 255});
  EXPECT_EQ(exact.scale, 1);
  EXPECT_EQ(exact.codes, (std::vector<std::uint8_t>{0, 1, 2, 3, 255}));
}

// What the best range leaves of normal values in groups of 128: a uniform quantiser made for the
// distribution leaves .119, .037 and .0115 (Max 1960, table II); one made for each group less.
TEST(CodecAffine, clipped_codes_of_normal_values_lose_what_a_quantiser_made_for_them_does) {
  constexpr double kWant[2][3] = {{0.118, 0.034, 0.009}, {0.117, 0.035, 0.010}};
  for (const bool symmetric : {false, true}) {
    for (std::size_t bits = 2; bits <= 4; ++bits) {
      double errors[2] = {}, size = 0;
      for (std::uint64_t seed = 0; seed < 200; ++seed) {
        const std::vector<float> values = normal_values(128, seed);
        for (const bool clips : {false, true}) {
          const reference::AffineKind kind{.bits = bits, .symmetric = symmetric, .clips = clips};
          auto x = values;
          std::vector<std::uint8_t> codes(x.size());
          NumericWarnings warnings;
          const auto group = reference::encode_group(x, kind, codes, warnings);
          for (std::size_t i = 0; i < x.size(); ++i) {
            const auto off =
                static_cast<double>(x[i] - reference::decode_value(kind, group, codes[i]));
            errors[clips ? 1 : 0] += off * off;
          }
        }
        for (const float x : values) size += static_cast<double>(x) * static_cast<double>(x);
      }
      EXPECT_LT(errors[1], errors[0]);
      const double want = kWant[symmetric ? 1 : 0][bits - 2];
      EXPECT_NEAR(errors[1] / size, want, 0.05 * want) << symmetric;
    }
  }
}

}  // namespace
}  // namespace satchel::kernels
