// Variance-normalised tiles: a tile whose codes are known, bytes, bounds, and values out of the
// common.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "kernels/base/rng.h"
#include "unit/kvcache/codec_fixture.h"

namespace satchel::kvcache {
namespace {

using testing::ElementsAre;
using Operand = Codec::Operand;

struct KvarnOperand : CodedOperand {
  KvarnOperand(Operand which, std::size_t dim, const std::string& params)
      : CodedOperand("kvarn", which, dim, params) {}
};

// Row r (channel), column c (token), with one loud channel and one loud token.
std::vector<float> known_tile(double times = 1) {
  std::vector<float> x(128 * 128);
  for (std::size_t r = 0; r < 128; ++r)
    for (std::size_t c = 0; c < 128; ++c) {
      const auto row = static_cast<double>(r), column = static_cast<double>(c);
      double value = std::sin(0.37 * row + 0.11) * std::cos(0.73 * column + 0.19 * row) +
                     0.05 * (static_cast<double>((7 * r + 11 * c) % 31) - 15);
      if (r == 5) value *= 20;
      if (c == 17) value *= 10;
      x[c * 128 + r] = static_cast<float>(value * times);
    }
  return x;
}

// The numbers were computed in float64 by the formulas, 16 rounds, without bringing to size.
struct Known {
  std::string bits, clip;
  std::vector<unsigned> first;  // of row 0; empty: not known
  unsigned sum = 0;
  double error = 0;
};
TEST(KvarnGolden, a_known_tile_has_its_known_codes_and_error) {
  const std::vector<float> x = known_tile();
  for (const Known& known :
       {Known{"4", "false", {2, 7, 11, 1, 6, 11, 2, 8}, 121646, 0.0070},
        Known{"3", "false", {1, 3, 5, 1, 3, 5, 1, 4}, 56737, 0.0306},
        Known{"2", "false", {0, 1, 2, 0, 1, 2, 0, 2}, 24352, 0.263},
        Known{"4", "true", {}, 121618, 0.0063}, Known{"3", "true", {}, 56753, 0.0213},
        Known{"2", "true", {}, 24325, 0.134}}) {
    const KvarnOperand kvarn(Operand::k, 128,
                             R"({ "bits": )" + known.bits + R"(, "clip": )" + known.clip +
                                 R"(, "rounds": 16, "prescale": false })");
    const std::vector<unsigned> codes = kvarn.codes(x);
    EXPECT_EQ(std::accumulate(codes.begin(), codes.end(), 0u), known.sum) << known.bits;
    for (std::size_t c = 0; c < known.first.size(); ++c)
      EXPECT_EQ(codes[c * 128], known.first[c]) << known.bits << ", " << c;
    const double unit = known.error < 0.01 ? 5.1e-5 : known.error < 0.1 ? 5.1e-5 : 5.1e-4;
    EXPECT_NEAR(error_share(x, kvarn.back(x)), known.error, unit) << known.bits;
  }
}

TEST(KvarnGolden, brought_to_size_first_a_tile_has_the_same_codes_however_large_it_is) {
  const std::string params = R"({ "bits": 4, "clip": false, "rounds": 16 })";
  const KvarnOperand kvarn(Operand::k, 128, params);
  const std::vector<unsigned> codes = kvarn.codes(known_tile());
  EXPECT_EQ(std::accumulate(codes.begin(), codes.end(), 0u), 121759u);
  EXPECT_NEAR(error_share(known_tile(), kvarn.back(known_tile())), 0.0061, 5.1e-5);
  EXPECT_EQ(kvarn.codes(known_tile(1.0 / 64)), codes);
}

// K of 128 tokens as rows of channels is V of 128 channels as rows of tokens.
TEST(Kvarn, turns_rows_and_columns_about_between_k_and_v) {
  const std::vector<float> x = known_tile();
  std::vector<float> turned(x.size());
  for (std::size_t r = 0; r < 128; ++r)
    for (std::size_t c = 0; c < 128; ++c) turned[r * 128 + c] = x[c * 128 + r];
  const std::vector<float> k = KvarnOperand(Operand::k, 128, "{}").back(x);
  const std::vector<float> v = KvarnOperand(Operand::v, 128, "{}").back(turned);
  for (std::size_t r = 0; r < 128; ++r)
    for (std::size_t c = 0; c < 128; ++c) ASSERT_EQ(v[r * 128 + c], k[c * 128 + r]);
}

TEST(Kvarn, takes_the_bytes_that_its_formula_says) {
  for (const std::size_t bits : {2u, 3u, 4u, 8u}) {
    const KvarnOperand kvarn(Operand::k, 64, R"({ "bits": )" + std::to_string(bits) + " }");
    const double values = 128 * 64, b = static_cast<double>(bits);
    EXPECT_EQ(static_cast<double>(kvarn.layout.k.bytes()) * 8, values * (b + 0.5));
    EXPECT_EQ(static_cast<double>(kvarn.layout.v.bytes()) * 8, values * (b + 0.625));
  }
}

TEST(Kvarn, keeps_what_is_alike_and_the_longest_and_the_least_values_there_are) {
  for (const Operand operand : {Operand::k, Operand::v})
    for (const char* bits : {"2", "3", "4", "8"}) {
      const KvarnOperand kvarn(operand, 64, std::string(R"({ "bits": )") + bits + " }");
      for (const std::size_t n : {1u, 2u, 31u, 128u}) {
        const std::vector<float> zeros(n * 64, 0.0f), fives(n * 64, 5.0f);
        EXPECT_EQ(kvarn.back(zeros), zeros);
        for (const float x : kvarn.back(fives)) EXPECT_NEAR(x, 5, 0.01) << bits << ", " << n;
        std::vector<float> loud(n * 64);
        Rng rng(n);
        for (float& x : loud) x = static_cast<float>(rng.uniform() * 2 - 1) * 60000;
        for (const float x : kvarn.back(loud)) EXPECT_TRUE(std::isfinite(x));
        EXPECT_LT(error_share(loud, kvarn.back(loud)), 0.25) << bits << ", " << n;
      }
    }
}

// Two values that are nearly alike vary little: divided by that, their channel would widen the
// rows' grids for all others.
TEST(Kvarn, does_not_balance_what_too_few_tokens_say) {
  for (const std::size_t n : {2u, 3u, 5u}) {
    const std::vector<float> x = some_values(n, 128, n, 1);
    EXPECT_LT(error_share(x, KvarnOperand(Operand::v, 128, "{}").back(x)), 0.012) << n;
  }
}

TEST(Kvarn, misses_less_with_more_bits_and_least_where_rows_and_columns_are_unlike) {
  const std::vector<float> x = known_tile(0.05);
  double before = 1;
  for (const char* bits : {"2", "3", "4", "8"}) {
    const KvarnOperand kvarn(Operand::k, 128, std::string(R"({ "bits": )") + bits + " }");
    const double error = error_share(x, kvarn.back(x));
    EXPECT_LT(error, before / 2) << bits;
    before = error;
  }
}

}  // namespace
}  // namespace satchel::kvcache
