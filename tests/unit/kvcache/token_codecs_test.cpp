// Codecs that give each token ranges of its own: known values by hand, bounds, and what sets them
// apart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kernels/base/rng.h"
#include "unit/kvcache/codec_fixture.h"

namespace satchel::kvcache {
namespace {

using kernels::Plane;
using kernels::PlaneKind;
using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;
using Operand = Codec::Operand;

// The given values, and `rest` for the other channels of one token.
std::vector<float> token(std::vector<float> x, std::size_t head_dim, float rest = 0) {
  x.resize(head_dim, rest);
  return x;
}
std::vector<unsigned> first(std::vector<unsigned> codes, std::size_t n) {
  codes.resize(n);
  return codes;
}
std::vector<float> first(std::vector<float> x, std::size_t n) {
  x.resize(n);
  return x;
}

TEST(Fp8, rounds_as_the_format_s_table_says) {
  const CodedOperand fp8("fp8", Operand::k, 16, "{ \"fit\": false }");
  const std::vector<float> x = {1,          0.5f,  16,   17,      18,       19,
                                448,        500,   -500, 0x1p-9f, 0x1p-10f, 0x1.8p-9f,
                                0x1.fep-7f, -0.0f, 464,  -1.0625f};
  EXPECT_THAT(fp8.codes(x), ElementsAre(0x38, 0x30, 0x58, 0x58, 0x59, 0x5a, 0x7e, 0x7e, 0xfe, 0x01,
                                        0x00, 0x02, 0x08, 0x80, 0x7e, 0xb8));
  EXPECT_THAT(fp8.back(x), ElementsAre(1, 0.5f, 16, 16, 18, 20, 448, 448, -448, 0x1p-9f, 0, 0x1p-8f,
                                       0x1p-6f, 0, 448, -1));
}

TEST(Fp8, decodes_every_code_to_what_it_stands_for_and_back) {
  const CodedOperand fp8("fp8", Operand::k, 256, "{ \"fit\": false }");
  std::vector<std::byte> page = fp8.encode(std::vector<float>(256, 1.0f));
  for (std::size_t code = 0; code < 256; ++code)
    page[fp8.operand.at(PlaneKind::codes).at + code] = static_cast<std::byte>(code);
  const std::vector<float> x = fp8.decode(page, 1);
  const std::vector<unsigned> again = fp8.codes(x);
  for (unsigned code = 0; code < 256; ++code) {
    if (code == 0x7f || code == 0xff) {
      EXPECT_EQ(x[code], 0) << "the code of no number";
    } else {
      EXPECT_EQ(again[code], code);
    }
  }
}

TEST(Fp8, misses_by_a_sixteenth_of_a_value_and_fits_any_page) {
  Rng rng(1);
  for (const float size : {1e-3f, 1.0f, 59000.0f}) {
    const CodedOperand fp8("fp8", Operand::v, 64);
    std::vector<float> x(128 * 64);
    for (float& value : x) value = size * static_cast<float>(rng.uniform() * 2 - 1);
    const std::vector<std::byte> page = fp8.encode(x);
    const std::vector<float> back = fp8.decode(page, 128);
    const float scale = float_at(page.data(), fp8.operand.at(PlaneKind::scale), 0);
    for (std::size_t i = 0; i < x.size(); ++i)
      ASSERT_LE(std::abs(back[i] - x[i]), std::max(std::abs(x[i]) / 16, scale / 1024) * 1.0001f);
  }
}

// A group that does not reach 0 is where a whole code for it would be cut.
TEST(IntToken, keeps_a_token_that_lies_far_from_zero) {
  for (const Operand which : {Operand::k, Operand::v}) {
    const auto codec = make<Codec>(StageKind::codec, "int_token", "{ \"bits\": 4 }");
    std::vector<Half> x;
    for (std::size_t i = 0; i < 64; ++i)
      x.push_back(float_to_half(10 + static_cast<float>(i % 16) / 15));
    const CodedPage page = round_trip(layout_of(*codec, 64, 32), x, x, rising(1));
    const std::vector<float>& back = which == Operand::k ? page.k : page.v;
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_NEAR(back[i], half_to_float(x[i]), 1 / 30.0 + 0.01);
  }
}

TEST(IntToken, misses_by_half_a_step_around_zero_or_from_the_least) {
  for (const char* bits : {"4", "8"})
    for (const char* symmetric : {"false", "true"}) {
      const CodedOperand tokens(
          "int_token", Operand::k, 96,
          std::string(R"({ "bits": )") + bits + R"(, "symmetric": )" + symmetric + " }");
      const std::vector<float> x = some_values(40, 96, 9);
      const std::vector<std::byte> page = tokens.encode(x);
      const std::vector<float> back = tokens.decode(page, 40);
      for (std::size_t i = 0; i < x.size(); ++i) {
        const float scale = float_at(page.data(), tokens.operand.at(PlaneKind::scale), i / 96);
        ASSERT_LE(std::abs(back[i] - x[i]), scale * 0.5001f) << bits << symmetric << i;
      }
    }
}

TEST(IntToken, takes_whole_codes_around_zero) {
  const CodedOperand tokens("int_token", Operand::v, 16, R"({ "bits": 4, "symmetric": true })");
  const std::vector<float> x = token({7, -7, 3.4f, -0.6f, 2.5f}, 16);  // scale 1; ties to even
  EXPECT_THAT(first(tokens.codes(x), 6), ElementsAre(15, 1, 11, 7, 10, 8));
  EXPECT_THAT(first(tokens.back(x), 6), ElementsAre(7, -7, 3, -1, 2, 0));
}

const char* kPlainBlocks = R"({ "bits": 4, "turn": false })";

TEST(Block32, puts_the_longest_value_on_the_lowest_code) {
  const CodedOperand block("block32", Operand::k, 32, kPlainBlocks);
  const std::vector<float> x = token({8, -7.6f, 3.5f, -0.4f}, 32);
  EXPECT_THAT(first(block.codes(x), 5), ElementsAre(0, 15, 5, 8, 8));
  EXPECT_THAT(first(block.back(x), 5), ElementsAre(8, -7, 3, 0, 0));
  const std::vector<float> other = token({-8, -7.6f, 3.5f, -0.4f}, 32);
  EXPECT_THAT(first(block.codes(other), 4), ElementsAre(0, 0, 12, 8));
  EXPECT_THAT(first(block.back(other), 4), ElementsAre(-8, -8, 4, 0));
}

TEST(Block32, fits_the_scale_to_the_codes_again) {
  const CodedOperand block("block32", Operand::k, 32,
                           R"({ "bits": 4, "turn": false, "refit": true })");
  const std::vector<float> x = token({8, -7.6f, 3.5f, -0.4f}, 32);
  const std::vector<std::byte> page = block.encode(x);
  EXPECT_NEAR(float_at(page.data(), block.operand.at(PlaneKind::scale), 0), -1.03709, 5e-4);
  EXPECT_THAT(first(block.codes(x), 5), ElementsAre(0, 15, 5, 8, 8));
}

TEST(Block32, at_eight_bits_has_127_steps_and_rounds_away_from_zero) {
  const CodedOperand block("block32", Operand::v, 32, R"({ "bits": 8, "turn": false })");
  const std::vector<float> x = token({1.27f, -0.635f, 0.015f, 0}, 32);
  EXPECT_THAT(first(block.codes(x), 4), ElementsAre(128 + 127, 128 - 64, 128 + 2, 128));
}

TEST(Block32, of_five_bits_and_with_a_minimum_has_steps_of_its_own) {
  const std::vector<float> x = token({16, -15.2f, 7, -0.8f}, 32);
  const CodedOperand five("block32", Operand::k, 32, R"({ "bits": 5, "turn": false })");
  EXPECT_THAT(first(five.codes(x), 5), ElementsAre(0, 31, 9, 17, 16));  // d = -1
  const CodedOperand least("block32", Operand::k, 32,
                           R"({ "bits": 4, "turn": false, "minimum": true })");
  const std::vector<float> y = token({-3, -1.5f, 0.9f, 4.5f, 7.49f, 12}, 32, -3);  // d = 1, m = -3
  EXPECT_THAT(first(least.codes(y), 7), ElementsAre(0, 2, 4, 8, 10, 15, 0));
  EXPECT_THAT(first(least.back(y), 6), ElementsAre(-3, -1, 1, 5, 7, 12));
}

TEST(Block32, misses_by_no_more_than_its_head_says) {
  struct Bound {
    const char* params;
    float steps, codes;
  };
  for (const Bound& bound :
       {Bound{R"({ "bits": 8 })", 0.5f, 127}, Bound{R"({ "bits": 5 })", 1, 16},
        Bound{R"({ "bits": 4 })", 1, 8}, Bound{R"({ "bits": 4, "minimum": true })", 0.5f, 15}}) {
    const CodedOperand block("block32", Operand::v, 80, bound.params);
    const std::vector<float> x = some_values(128, 80, 12);
    const std::vector<std::byte> page = block.encode(x);
    const std::vector<float> back = block.decode(page, 128);
    const Plane* lows = block.operand.find(PlaneKind::zero);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float scale =
          std::abs(float_at(page.data(), block.operand.at(PlaneKind::scale), i / 16));
      const float low = lows == nullptr ? 0 : std::abs(float_at(page.data(), *lows, i / 16));
      const float halves = (scale * bound.codes + low) * 0x1p-11f;
      ASSERT_LE(std::abs(back[i] - x[i]), scale * bound.steps * 1.001f + halves) << bound.params;
    }
  }
}

// Four values as a token of sixteen, so that its length and its size are those of the four.
std::vector<float> four_times(const std::vector<float>& x) {
  std::vector<float> all;
  for (int i = 0; i < 4; ++i) all.insert(all.end(), x.begin(), x.end());
  return all;
}
TEST(TurboQuant, takes_the_nearest_level_and_gives_zero_to_the_upper_half) {
  const CodedOperand turbo("turboquant", Operand::k, 16, R"({ "bits": 2, "turn": false })");
  const std::vector<float> x = four_times({2, 0, 0, 0});
  EXPECT_THAT(first(turbo.codes(x), 5), ElementsAre(3, 2, 2, 2, 3));
  const std::vector<float> mirrored = four_times({-2, 0, 0, 0});
  EXPECT_THAT(first(turbo.codes(mirrored), 4), ElementsAre(0, 2, 2, 2));
  // As long as x: levels 1.5104 and three of 0.4528 times 2 / their length.
  const double factor = 2 / std::sqrt(1.5104 * 1.5104 + 3 * 0.4528 * 0.4528);
  EXPECT_THAT(first(turbo.back(x), 2),
              Pointwise(FloatNear(2e-3f), {static_cast<float>(1.5104 * factor),
                                           static_cast<float>(0.4528 * factor)}));
}

TEST(TurboQuant, keeps_the_length_of_a_token_whatever_its_shape) {
  for (const std::size_t dim : {16u, 64u, 80u, 96u, 128u})
    for (const char* bits : {"2", "3", "4"}) {
      const CodedOperand turbo("turboquant", Operand::v, dim,
                               std::string(R"({ "bits": )") + bits + " }");
      const std::vector<float> x = some_values(20, dim, dim, 100), back = turbo.back(x);
      for (std::size_t t = 0; t < 20; ++t) {
        double want = 0, got = 0;
        for (std::size_t i = t * dim; i < (t + 1) * dim; ++i) {
          want += std::pow(double{x[i]}, 2);
          got += std::pow(double{back[i]}, 2);
        }
        EXPECT_NEAR(std::sqrt(got / want), 1, 1e-3) << dim << ", " << bits;
      }
    }
}

// One channel that outweighs all: without the turn the others are lost; blocks alone would not
// spread it where head_dim is no power of two.
TEST(TurboQuant, spreads_a_loud_channel_over_all) {
  for (const std::size_t dim : {64u, 80u, 96u}) {
    const std::vector<float> x = some_values(128, dim, 3, 30);
    const CodedOperand turbo("turboquant", Operand::k, dim, R"({ "bits": 3 })");
    EXPECT_LT(error_share(x, turbo.back(x)), 0.055) << dim;
  }
}

TEST(Bfp, shares_the_exponent_of_the_longest_value) {
  const CodedOperand bfp("bfp", Operand::v, 16, R"({ "bits": 4, "block": 16 })");
  const std::vector<float> x = token({7.9f, -8, 3.4f, 0.4f}, 16);
  EXPECT_THAT(first(bfp.codes(x), 5), ElementsAre(8 + 4, 8 - 4, 8 + 2, 8, 8));
  EXPECT_THAT(first(bfp.back(x), 5), ElementsAre(8, -8, 4, 0, 0));
  const std::vector<float> cut = token({7.9f, 3.4f}, 16);
  EXPECT_THAT(first(bfp.back(cut), 2), ElementsAre(7, 3));
}

TEST(Bfp, marks_a_block_of_zeros) {
  const CodedOperand bfp("bfp", Operand::v, 32, R"({ "block": 16 })");
  const std::vector<float> x = token({0, 0, 1, 0}, 32);
  const std::vector<std::byte> page = bfp.encode(x);
  EXPECT_THAT(bfp.codes(page, bfp.operand.at(PlaneKind::scale), 2), ElementsAre(127, 0));
  EXPECT_EQ(bfp.decode(page, 1), x);
}

TEST(Bfp, sorts_keys_so_that_loud_channels_share_blocks) {
  const std::vector<float> x = some_values(128, 64, 2);  // channels 5 and 37 loud
  const CodedOperand sorted("bfp", Operand::k, 64);
  const CodedOperand plain("bfp", Operand::k, 64, R"({ "sort": false })");
  const std::vector<unsigned> order =
      sorted.codes(sorted.encode(x), sorted.operand.at(PlaneKind::kept_channels), 64);
  EXPECT_THAT(first(order, 2), testing::UnorderedElementsAre(5, 37));
  EXPECT_LT(error_share(x, sorted.back(x)), 0.9 * error_share(x, plain.back(x)));
  EXPECT_EQ(CodedOperand("bfp", Operand::v, 64).operand.find(PlaneKind::kept_channels), nullptr);
}

TEST(Bfp, misses_by_half_a_step_and_by_a_step_at_the_upper_end) {
  const CodedOperand bfp("bfp", Operand::v, 64, R"({ "bits": 5 })");
  const std::vector<float> x = some_values(128, 64, 4);
  const std::vector<std::byte> page = bfp.encode(x);
  const std::vector<float> back = bfp.decode(page, 128);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const unsigned exponent = code_at(page.data(), bfp.operand.at(PlaneKind::scale), i / 32);
    const float step = std::ldexp(1.0f, static_cast<int>(exponent) - 127 - 3);
    const bool is_upper_end = x[i] > 15 * step;
    ASSERT_LE(std::abs(back[i] - x[i]), is_upper_end ? step : step / 2);
  }
}

TEST(RotateKv, at_three_bits_has_eight_levels) {
  const CodedOperand rotate("rotatekv", Operand::v, 16, R"({ "bits": 3 })");
  std::vector<float> x;
  for (std::size_t i = 0; i < 16; ++i) x.push_back(static_cast<float>(i % 8));
  EXPECT_THAT(first(rotate.codes(x), 8), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_EQ(rotate.back(x), x);
}

// Channels 0 … 15 hold 1 to 16, 16 … 31 a hundred times that, so that the order is turned about.
TEST(RotateKv, sorts_the_channels_of_keys_and_puts_them_back) {
  const CodedOperand rotate("rotatekv", Operand::k, 32, R"({ "bits": 4, "group": 16 })");
  std::vector<float> x(3 * 32);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = (i % 32 < 16 ? 1.0f : 100.0f) * static_cast<float>(i % 16 + 1);
  const std::vector<std::byte> page = rotate.encode(x);
  const std::vector<unsigned> order =
      rotate.codes(page, rotate.operand.at(PlaneKind::kept_channels), 32);
  EXPECT_EQ(order[0], 31u);  // the loudest
  EXPECT_EQ(order[31], 0u);
  const std::vector<float> back = rotate.decode(page, 3);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(back[i], x[i], 60) << i;
  EXPECT_LT(error_share(x, back), 0.01);
}

TEST(Oscar, cuts_at_the_quantile_before_it_codes) {
  const CodedOperand oscar("oscar", Operand::k, 16, R"({ "turn": false, "clip_k": 0.75 })");
  // Twice 0 … 6 and 100: of 16 sizes the one of rank 12 is 6; scale 2.
  std::vector<float> x = {0, 1, 2, 3, 4, 5, 6, 100, 0, 1, 2, 3, 4, 5, 6, 100};
  EXPECT_THAT(first(oscar.codes(x), 8), ElementsAre(0, 0, 1, 2, 2, 2, 3, 3));
  EXPECT_THAT(first(oscar.back(x), 8), ElementsAre(0, 0, 2, 4, 4, 4, 6, 6));
}

TEST(Oscar, cuts_values_more_than_keys) {
  const std::vector<float> x = some_values(128, 128, 6, 1);
  const auto largest = [&](Operand which) {
    float most = 0;
    for (const float value : CodedOperand("oscar", which, 128).back(x))
      most = std::max(most, std::abs(value));
    return most;
  };
  EXPECT_LT(largest(Operand::v), largest(Operand::k));
}

// The authors' whole zero, cut to 0 … 15, would decode all of these to 1.
TEST(QHitter, codes_a_group_without_a_zero_in_it) {
  const CodedOperand four("qhitter", Operand::k, 16);
  std::vector<float> x(16);
  for (std::size_t c = 0; c < 16; ++c) x[c] = 10 + static_cast<float>(c) / 15;
  for (const unsigned code : four.codes(x)) EXPECT_LT(code, 16u);
  EXPECT_THAT(four.back(x), Pointwise(FloatNear(1 / 15.0f * 0.51f), x));
}

TEST(QHitter, has_the_bytes_of_whole_numbers_of_four_bits) {
  const auto own = make<Codec>(StageKind::codec, "qhitter");
  const auto other = make<Codec>(StageKind::codec, "int_token", "{ \"bits\": 4 }");
  const auto x = test::random_halves(100 * 80, 80, 1);
  EXPECT_EQ(round_trip(layout_of(*own, 80, 100), x, x, rising(100)).bytes,
            round_trip(layout_of(*other, 80, 100), x, x, rising(100)).bytes);
}

}  // namespace
}  // namespace satchel::kvcache
