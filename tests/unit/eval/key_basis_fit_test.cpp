// Coordinates of keys: what was planted in queries and keys is found.
#include "app/eval/calibration/key_basis_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "kernels/base/rng.h"
#include "kernels/contract/transform.h"
#include "kvcache/profile/key_bases.h"

namespace satchel::eval {
namespace {

constexpr std::size_t kDim = 8;
constexpr std::size_t kTokens = 4 + 128 * 150;  // sinks and pages
using Matrix = std::array<std::array<double, kDim>, kDim>;
using Row = std::array<double, kDim>;

double normal(Rng& rng) {  // Box and Muller
  const double u = 1 - rng.uniform(), v = rng.uniform();
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}
// Rows x = noise · mix: their covariance is mixᵀ · mix.
Matrix random_mix(std::uint64_t seed) {
  Rng rng(seed);
  Matrix mix;
  for (std::size_t r = 0; r < kDim; ++r)
    for (std::size_t c = 0; c < kDim; ++c)
      mix[r][c] = normal(rng) * std::exp2(-double(r) / 2) + (r == c ? 0.3 : 0);
  return mix;
}
Matrix covariance_of(const Matrix& mix) {
  Matrix out{};
  for (std::size_t i = 0; i < kDim; ++i)
    for (std::size_t j = 0; j < kDim; ++j)
      for (std::size_t r = 0; r < kDim; ++r) out[i][j] += mix[r][i] * mix[r][j];
  return out;
}
std::vector<float> rows(const Matrix& mix, std::size_t n, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<float> out;
  for (std::size_t t = 0; t < n; ++t) {
    Row noise;
    for (double& x : noise) x = normal(rng);
    for (std::size_t c = 0; c < kDim; ++c) {
      double sum = 0;
      for (std::size_t r = 0; r < kDim; ++r) sum += noise[r] * mix[r][c];
      out.push_back(static_cast<float>(sum));
    }
  }
  return out;
}
// mᵀ · middle · m
Matrix around(const std::vector<float>& m, const Matrix& middle) {
  Matrix out{};
  for (std::size_t a = 0; a < kDim; ++a)
    for (std::size_t b = 0; b < kDim; ++b)
      for (std::size_t i = 0; i < kDim; ++i)
        for (std::size_t j = 0; j < kDim; ++j)
          out[a][b] += double(m[i * kDim + a]) * middle[i][j] * double(m[j * kDim + b]);
  return out;
}
HeadRows all_of(const std::vector<float>& values) {
  return {.first = values.data(), .n = values.size() / kDim, .stride = kDim};
}
kvcache::CacheShape shape_of(std::size_t n_lanes, std::vector<double> frequencies = {}) {
  kvcache::CacheShape shape;
  shape.layers = {{.n_heads = n_lanes,
                   .n_kv_heads = n_lanes,
                   .head_dim = kDim,
                   .rope_pairs = kernels::RopePairs::halves,
                   .inverse_frequency = std::move(frequencies)}};
  return shape;
}
constexpr std::size_t kContext = 4096;
KeyBasisFit one_lane() {
  return KeyBasisFit(shape_of(1), kContext);
}

// In the coordinates keys are uncorrelated, the largest first and of deviation 8, and queries look
// at all of them alike: so that an error costs the same wherever it is.
TEST(KeyBasisFit, finds_where_planted_keys_are_uncorrelated_and_queries_look_alike) {
  const Matrix of_queries = random_mix(1), of_keys = random_mix(2);
  KeyBasisFit fit = one_lane();
  fit.add_queries(0, all_of(rows(of_queries, kTokens, 3)));
  fit.add_keys(0, all_of(rows(of_keys, kTokens, 4)));
  const KeyBasis basis = fit.solve(0);
  const Matrix keys = around(basis.to, covariance_of(of_keys));
  const auto made =
      kvcache::KeyBases::make({.model = "",
                               .name = "",
                               .source = "",
                               .lanes = {{.head_dim = kDim, .to = basis.to, .from = {}}}});
  ASSERT_TRUE(made.ok()) << made.error().message;
  const Matrix queries = around(made->lanes[0].from, covariance_of(of_queries));
  EXPECT_NEAR(keys[0][0], 64, 3);
  for (std::size_t a = 0; a < kDim; ++a) {
    EXPECT_NEAR(queries[a][a] / queries[0][0], 1, 0.05) << a;
    if (a > 0) {
      EXPECT_LT(keys[a][a], keys[a - 1][a - 1]);
    }
    for (std::size_t b = 0; b < a; ++b) {
      EXPECT_LT(std::abs(keys[a][b]) / std::sqrt(keys[a][a] * keys[b][b]), 0.05) << a << b;
      EXPECT_LT(std::abs(queries[a][b]) / queries[0][0], 0.05) << a << b;
    }
  }
  EXPECT_GT(basis.gain_bits, 0.5);
}

// Variances 1, 1/4, 1/16 … as queries weigh them: half the log2 of their means' ratio.
TEST(KeyBasisFit, says_what_is_gained) {
  Matrix even{}, falling{};
  double mean = 0, log_mean = 0;
  for (std::size_t i = 0; i < kDim; ++i) {
    even[i][i] = 1;
    falling[i][i] = std::exp2(-double(i));
    mean += std::exp2(-2 * double(i)) / kDim;
    log_mean -= 2 * double(i) / kDim;
  }
  KeyBasisFit fit(shape_of(2), kContext);
  for (const std::size_t lane : {0u, 1u}) {
    fit.add_queries(lane, all_of(rows(even, kTokens, 5)));
    fit.add_keys(lane, all_of(rows(lane == 0 ? falling : even, kTokens, 6)));
  }
  EXPECT_NEAR(fit.solve(0).gain_bits, (std::log2(mean) - log_mean) / 2, 0.02);
  EXPECT_NEAR(fit.solve(1).gain_bits, 0, 0.01);
}

TEST(KeyBasisFit, does_not_see_means_of_pages_nor_first_tokens_nor_what_is_no_number) {
  const std::vector<float> queries = rows(random_mix(1), 1000, 3);
  const std::size_t n_keys = 4 + 3 * 128 + 10;  // ten are too few for a mean
  std::vector<float> keys = rows(random_mix(2), n_keys, 4);
  KeyBasisFit plain = one_lane(), moved = one_lane();
  plain.add_queries(0, all_of(queries));
  plain.add_keys(0, all_of(keys));
  std::vector<float> more_queries = queries;
  more_queries.insert(more_queries.end(), kDim, std::numeric_limits<float>::quiet_NaN());
  moved.add_queries(0, all_of(more_queries));
  for (std::size_t t = 0; t < n_keys; ++t)
    for (std::size_t c = 0; c < kDim; ++c) {
      float& x = keys[t * kDim + c];
      if (t < 4) x = 1e6f;
      if (t >= 4) x += static_cast<float>((t - 4) / 128) * 16;  // a page's own mean
      if (t >= 4 + 3 * 128) x = -1e6f * static_cast<float>(t);
    }
  moved.add_keys(0, all_of(keys));
  const KeyBasis a = plain.solve(0), b = moved.solve(0);
  EXPECT_NEAR(a.gain_bits, b.gain_bits, 1e-4);
  for (std::size_t i = 0; i < kDim * kDim; ++i) EXPECT_NEAR(a.to[i], b.to[i], 0.01) << i;
}

TEST(KeyBasisFit, takes_rows_that_lie_among_those_of_other_heads) {
  const std::vector<float> queries = rows(random_mix(1), 512, 3),
                           keys = rows(random_mix(2), 512, 4);
  const auto among = [](const std::vector<float>& values) {
    std::vector<float> out(2 * values.size(), 1e9f);
    for (std::size_t i = 0; i < values.size(); ++i)
      out[i / kDim * 2 * kDim + kDim + i % kDim] = values[i];
    return out;
  };
  KeyBasisFit plain = one_lane(), strided = one_lane();
  plain.add_queries(0, all_of(queries));
  plain.add_keys(0, all_of(keys));
  const std::vector<float> wide_queries = among(queries), wide_keys = among(keys);
  strided.add_queries(0, {.first = wide_queries.data() + kDim, .n = 512, .stride = 2 * kDim});
  strided.add_keys(0, {.first = wide_keys.data() + kDim, .n = 512, .stride = 2 * kDim});
  EXPECT_EQ(plain.solve(0).to, strided.solve(0).to);
}

// Keys whose slow pair stands one way before RoPE: over a text it goes round, in frames it does
// not.
TEST(KeyBasisFit, of_keys_that_rope_turns_is_found_in_frames_and_for_queries_from_afar) {
  const std::vector<double> frequencies = {1, 0.3, 0.1, 5e-4};
  const kvcache::CacheShape shape = shape_of(1, frequencies);
  Matrix narrow{};
  for (std::size_t i = 0; i < kDim; ++i) narrow[i][i] = i == 3 ? 8 : 0.5;  // the slow pair is 3, 7
  const std::vector<float> queries = rows(random_mix(1), 2048, 3);
  const auto gain_of = [&](std::vector<float> keys, bool turns) {
    KeyBasisFit fit(shape, kContext);
    fit.add_queries(0, all_of(queries));
    for (std::size_t t = 0; t < keys.size() / kDim && turns; ++t)
      kernels::rotate_rows(shape.layers[0].rope(), static_cast<std::int32_t>(t),
                           keys.data() + t * kDim, 1, kDim);
    fit.add_keys(0, all_of(keys));
    return fit.solve(0).gain_bits;
  };
  const std::vector<float> keys = rows(narrow, 16384, 4);
  // A frame turns the pair by a quarter rad at most: it is narrow still. What never was turned goes
  // round.
  EXPECT_GT(gain_of(keys, true), gain_of(keys, false) + 0.2);
}

// Nothing was seen, or all is the same: any coordinates do, and they must have an inverse.
TEST(KeyBasisFit, leaves_a_lane_that_shows_nothing_as_it_is) {
  const std::vector<float> same(512 * kDim, 0.5f), queries = rows(random_mix(1), 512, 3);
  KeyBasisFit fit(shape_of(3), kContext);
  fit.add_queries(1, all_of(queries));
  fit.add_keys(1, all_of(same));
  fit.add_queries(2, all_of(std::vector<float>(512 * kDim)));
  fit.add_keys(2, all_of(queries));
  for (const std::size_t lane : {0u, 1u, 2u}) {
    const KeyBasis basis = fit.solve(lane);
    EXPECT_EQ(basis.gain_bits, 0);
    for (std::size_t i = 0; i < kDim * kDim; ++i)
      EXPECT_EQ(basis.to[i], i % (kDim + 1) == 0 ? 1 : 0) << lane;
  }
}

// One direction only is looked at, and another holds all keys.
TEST(KeyBasisFit, of_queries_and_keys_in_one_direction_has_an_inverse) {
  Matrix first{}, second{};
  first[0][0] = 1;
  second[1][1] = 1e-3;
  KeyBasisFit fit = one_lane();
  fit.add_queries(0, all_of(rows(first, 512, 3)));
  fit.add_keys(0, all_of(rows(second, 512, 4)));
  EXPECT_TRUE(
      kvcache::KeyBases::make({.model = "",
                               .name = "",
                               .source = "",
                               .lanes = {{.head_dim = kDim, .to = fit.solve(0).to, .from = {}}}})
          .ok());
}

}  // namespace
}  // namespace satchel::eval
