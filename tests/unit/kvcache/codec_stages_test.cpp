// The transformed affine codec and GEAR: bounds, parts, and golden pages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/base/rng.h"
#include "kvcache/recipes/recipe.h"
#include "unit/kvcache/cache_driver.h"
#include "unit/kvcache/codec_fixture.h"

namespace satchel::kvcache {
namespace {

using kernels::Plane;
using kernels::PlaneKind;
using test::GoldenFile;
using Operand = Codec::Operand;

// Root of the summed squared error of a page, over that of the values.
double error_of(const std::vector<float>& got, const std::vector<Half>& want) {
  std::vector<float> exact;
  for (const Half h : want) exact.push_back(half_to_float(h));
  return test::distance(got, exact);
}

TEST(Hadamard, keeps_each_token_within_half_a_step_of_its_largest_scale_times_its_length) {
  const auto codec = make<Codec>(StageKind::codec, "hadamard_affine");
  constexpr std::size_t kDim = 64, kTokens = 128;
  const kernels::PageLayout layout = layout_of(*codec, kDim, kTokens);
  const auto v = test::random_halves(kTokens * kDim, kDim, 5, 30);
  const CodedPage page = round_trip(layout, v, v, rising(kTokens));
  const Plane& plane = layout.v.at(PlaneKind::scale);
  const auto* scales = reinterpret_cast<const Half*>(page.bytes.data() + plane.at);
  float largest = 0;
  for (std::size_t i = 0; i < plane.bytes / sizeof(Half); ++i)
    largest = std::max(largest, half_to_float(scales[i]));
  const double bound = 8.0 * static_cast<double>(largest) / 2;  // sqrt(64)
  for (std::size_t t = 0; t < kTokens; ++t) {
    double sum = 0;
    for (std::size_t i = t * kDim; i < (t + 1) * kDim; ++i)
      sum += std::pow(static_cast<double>(page.v[i] - half_to_float(v[i])), 2);
    EXPECT_LE(std::sqrt(sum), bound * 1.001) << t;
  }
}

TEST(Hadamard,
     of_whole_axes_gives_tokens_back_the_better_the_more_it_clips_and_the_more_bits_it_has) {
  double before = 1;
  for (const std::size_t bits : {2u, 3u, 4u, 8u}) {
    for (const bool symmetric : {false, true}) {
      double errors[2] = {};
      for (const bool clip : {false, true}) {
        const auto codec = make<Codec>(StageKind::codec, "hadamard_affine",
                                       "{\"group\": 0, \"bits\": " + std::to_string(bits) +
                                           (clip ? ", \"clip\": true" : "") +
                                           (symmetric ? ", \"symmetric\": true}" : "}"));
        for (const std::size_t n : {1u, 33u, 128u}) {
          const auto x = test::random_halves(n * 80, 80, n, 10);
          const CodedPage page = round_trip(layout_of(*codec, 80, n), x, x, rising(n));
          EXPECT_LT(error_of(page.k, x), 0.6);
          errors[clip ? 1 : 0] = error_of(page.v, x);
        }
      }
      EXPECT_LE(errors[1], errors[0]) << bits << symmetric;
      EXPECT_LT(errors[1], before) << bits << symmetric;
      if (symmetric) before = errors[1] / 1.5;  // half the step, or less
    }
  }
}

// One loud channel in 32, as in real keys: transformed, V in groups of channels loses less.
TEST(Hadamard, spreads_a_loud_channel) {
  const auto v = test::random_halves(128 * 64, 64, 8, 30);
  double errors[2] = {};
  const char* names[] = {"minikv2", "hadamard_affine"};
  for (std::size_t i = 0; i < 2; ++i) {
    const auto codec = make<Codec>(StageKind::codec, names[i], "{\"bits\": 4, \"group\": 32}");
    std::vector<float> quiet, exact;
    const CodedPage page = round_trip(layout_of(*codec, 64, 128), v, v, rising(128));
    for (std::size_t j = 0; j < v.size(); ++j)
      if (j % 64 % 32 != 5) quiet.push_back(page.v[j]), exact.push_back(half_to_float(v[j]));
    errors[i] = test::distance(quiet, exact);
  }
  EXPECT_LT(errors[1], 0.7 * errors[0]);
}

class HadamardGolden : public testing::TestWithParam<const char*> {};
TEST_P(HadamardGolden, a_page_has_the_bytes_and_the_values_that_numpy_computed) {
  GoldenFile file(std::string("codec/hadamard_") + GetParam() + ".bin");
  const auto head = file.take<std::uint32_t>(4);
  const std::size_t dim = head[0];
  const auto k = file.take<Half>(128 * dim), v = file.take<Half>(128 * dim);
  const auto positions = file.take<std::int32_t>(128);
  const auto bytes = file.take<std::byte>(head[3]);
  const auto codec = make<Codec>(
      StageKind::codec, "hadamard_affine",
      "{\"bits\": " + std::to_string(head[1]) + ", \"group\": " + std::to_string(head[2]) + "}");
  const CodedPage page = round_trip(layout_of(*codec, dim, 128), k, v, positions);
  const auto differ = std::mismatch(page.bytes.begin(), page.bytes.end(), bytes.begin());
  EXPECT_EQ(differ.first - page.bytes.begin(), std::ptrdiff_t(bytes.size())) << "first difference";
  for (const auto* side : {&page.k, &page.v}) {
    const auto want = file.take<float>(4 * dim);
    for (std::size_t i = 0; i < want.size(); ++i) {
      constexpr std::size_t kShown[] = {0, 1, 77, 127};
      EXPECT_EQ((*side)[kShown[i / dim] * dim + i % dim], want[i]);
    }
  }
  EXPECT_EQ(file.n_left(), 0u);
}
INSTANTIATE_TEST_SUITE_P(Files, HadamardGolden, testing::Values("d64_b4_g32", "d96_b4_g16"));

struct GearOperand : CodedOperand {
  GearOperand(Operand which, std::size_t dim, const std::string& params)
      : CodedOperand("gear", which, dim, params) {}
};

class GearGolden : public testing::TestWithParam<const char*> {};
TEST_P(GearGolden, an_operand_has_the_planes_and_the_values_that_numpy_computed) {
  GoldenFile file(std::string("codec/gear_") + GetParam() + ".bin");
  const auto head = file.take<std::uint32_t>(7);
  const std::size_t dim = head[1], n = head[4];
  const auto x = file.take<float>(n * dim);
  const GearOperand gear(
      head[0] == 0 ? Operand::k : Operand::v, dim,
      "{\"bits\": " + std::to_string(head[2]) + ", \"group\": " + std::to_string(head[3]) + "}");
  const std::vector<std::byte> page = gear.encode(x);
  for (const PlaneKind kind :
       {PlaneKind::codes, PlaneKind::scale, PlaneKind::zero, PlaneKind::outlier_places,
        PlaneKind::outlier_values, PlaneKind::token_factors, PlaneKind::channel_factors}) {
    const Plane& plane = gear.operand.at(kind);
    const auto want = file.take<std::byte>(plane.bytes);
    if (kind == PlaneKind::token_factors || kind == PlaneKind::channel_factors) {
      const auto* got = reinterpret_cast<const Half*>(page.data() + plane.at);
      const auto* expected = reinterpret_cast<const Half*>(want.data());
      for (std::size_t i = 0; i < plane.bytes / sizeof(Half); ++i)  // sums in another order
        EXPECT_NEAR(half_to_float(got[i]), half_to_float(expected[i]),
                    1e-3 * std::abs(half_to_float(expected[i])) + 1e-7);
    } else {
      const std::vector<std::byte> got(page.begin() + plane.at,
                                       page.begin() + plane.at + plane.bytes);
      EXPECT_EQ(got, want) << int(kind);
    }
  }
  const std::vector<float> back = gear.decode(page, n);
  const auto want = file.take<float>(4 * dim);
  for (std::size_t i = 0; i < want.size(); ++i) {
    const std::size_t shown[] = {0, 1, 77, n - 1};
    EXPECT_NEAR(back[shown[i / dim] * dim + i % dim], want[i], 1e-3 * std::abs(want[i]) + 1e-4);
  }
  EXPECT_EQ(file.n_left(), 0u);
}
INSTANTIATE_TEST_SUITE_P(Files, GearGolden,
                         testing::Values("k_d64_b4", "v_d64_b4", "k_d96_b2", "v_d96_b2"));

TEST(Gear, loses_no_more_than_its_codes_alone_and_less_with_every_part) {
  for (const Operand which : {Operand::k, Operand::v})
    for (const std::size_t n : {128u, 70u, 3u}) {
      const std::vector<float> x = some_values(n, 64, n);
      const auto error = [&](const std::string& params) {
        return test::distance(GearOperand(which, 64, "{\"bits\": 2, " + params + "}").back(x), x);
      };
      const double codes = error("\"outliers\": 0, \"rank\": 0");
      const double low_rank = error("\"outliers\": 0, \"rank\": 4");
      const double outliers = error("\"outliers\": 0.1, \"rank\": 0");
      const double both = error("\"outliers\": 0.1, \"rank\": 4");
      EXPECT_LE(low_rank, codes * 1.001) << n;
      EXPECT_LE(outliers, codes * 1.001) << n;
      EXPECT_LE(both, outliers * 1.001) << n;
      if (n == 128) {
        EXPECT_LT(both, 0.8 * codes);
      }
    }
}

// What is left of a row's codes has rank 2 here: one scale for all tokens, so that the codes miss
// little, and the factors take the rest.
TEST(Gear, a_low_rank_error_is_taken_whole) {
  // Token t holds 100 in channel 0, so that a scale of V's row is 100/3, and u_t · w_c + a_t · b_c,
  // small against it, elsewhere: the codes are 0 there and all of it is error of rank 2.
  constexpr std::size_t kDim = 64, kTokens = 96;
  std::vector<float> x(kTokens * kDim);
  for (std::size_t t = 0; t < kTokens; ++t) {
    for (std::size_t c = 1; c < kDim; ++c)
      x[t * kDim + c] = 4 + std::sin(float(t) * 0.7f) * std::cos(float(c) * 0.3f) +
                        2 * std::cos(float(t) * 0.2f) * std::sin(float(c) * 0.9f);
    x[t * kDim] = 100;
    x[t * kDim + 1] = 0;
  }
  const auto error = [&](const std::string& rank) {
    const GearOperand gear(Operand::v, kDim,
                           "{\"bits\": 2, \"outliers\": 0, \"rank\": " + rank + "}");
    return test::distance(gear.back(x), x);
  };
  EXPECT_GT(error("1"), 0.05);
  EXPECT_LT(error("4"), 1e-3);  // the constant, two products, and the hole in channel 1
}

TEST(Gear, keeps_the_largest_and_smallest_of_a_row_as_they_are) {
  std::vector<float> x(16, 1);
  const std::vector<float> row = {100, 1, 2, 3, -50, 0};
  std::copy(row.begin(), row.end(), x.begin());
  const GearOperand gear(Operand::v, 16, "{\"outliers\": 0.125, \"rank\": 0, \"group\": 16}");
  const std::vector<std::byte> page = gear.encode(x);
  const std::byte* places = page.data() + gear.operand.at(PlaneKind::outlier_places).at;
  EXPECT_EQ(std::to_integer<int>(places[0]), 0);
  EXPECT_EQ(std::to_integer<int>(places[1]), 4);
  const std::vector<float> back = gear.decode(page, 1);
  EXPECT_EQ(back[0], 100);
  EXPECT_EQ(back[4], -50);
  for (std::size_t i = 0; i < 16; ++i)
    EXPECT_NEAR(back[i], x[i], i == 0 || i == 4 ? 0 : 0.11);  // half of 3 / 15
}

TEST(Gear, says_in_its_layout_all_that_a_reader_needs) {
  const GearOperand gear(Operand::k, 64, "{\"rank\": 3}");
  EXPECT_EQ(gear.operand.code->name(), "gear.k");
  EXPECT_EQ(gear.operand.at(PlaneKind::token_factors).count, 3);
  EXPECT_EQ(gear.operand.at(PlaneKind::outlier_places).count, 2);
  EXPECT_EQ(gear.operand.at(PlaneKind::codes).group, 64);
}

// Two names, one codec: what either makes the other reads.
TEST(Codecs, have_the_bytes_of_the_codecs_whose_other_name_they_are) {
  const auto x = test::random_halves(128 * 64, 64, 3, 10);
  const auto bytes = [&](const char* name, const char* params) {
    const auto codec = make<Codec>(StageKind::codec, name, params);
    return round_trip(layout_of(*codec, 64, 128), x, x, rising(128)).bytes;
  };
  for (const char* params : {"{}", R"({ "bits": 4, "group": 32 })", R"({ "clip": true })"})
    EXPECT_EQ(bytes("minikv", params), bytes("minikv2", params));
  for (const char* params : {"{}", R"({ "group": 64 })"})
    EXPECT_EQ(bytes("hadamard-int4", params), bytes("hadamard_affine", params));
  EXPECT_EQ(bytes("saq", "{}"), bytes("kivi", R"({ "bits": 4 })"));
}

TEST(Codecs, one_that_no_page_can_hold_is_refused_with_what_it_needs) {
  const auto recipe = Recipe::parse(
      R"({ "recipe": 1, "name": "t", "source": "ours", "differs": "nothing", "keep": 1,
           "trigger": "never", "reader": "all", "codec": { "k": "minicache", "v": "exact" } })");
  ASSERT_FALSE(recipe.ok());
  EXPECT_EQ(recipe.error().code, "CODEC_NEEDS");
  EXPECT_THAT(recipe.error().message, testing::HasSubstr("minicache"));
  EXPECT_THAT(recipe.error().message, testing::HasSubstr("two layers"));
}

// A page's worth of tokens at 8 bits, two at 4, then 4 and 2; as the text grows each comes down.
TEST(Saq, tokens_come_down_the_stairs_as_they_grow_old_and_never_up) {
  std::string json(Recipe::builtin("saq").value().json());
  const std::string stairs = R"("first":8,"second":32)";
  ASSERT_NE(json.find(stairs), std::string::npos) << json;
  json.replace(json.find(stairs), stairs.size(), R"("first":1,"second":2)");
  CacheDriver driver({.recipe = json, .n_layers = 1, .n_heads = 1, .n_kv_heads = 1});
  driver.check_attention = false;
  const auto expect_stairs = [&](std::size_t n, std::size_t n_coded) {
    std::size_t age = 0;
    const DecodedLane lane = driver.decode(0, 0);
    EXPECT_EQ(lane.size(), n);
    for (auto token = lane.rbegin(); token != lane.rend(); ++token) {
      const kernels::PageLayout* layout = token->second.layout;
      // Sinks, tail, and what is being answered, which is not compressed yet.
      if (layout == nullptr || layout->k.is_exact()) continue;
      EXPECT_EQ(layout->k.at(PlaneKind::codes).bits, age < 128 ? 8 : 4) << token->first;
      EXPECT_EQ(layout->v.at(PlaneKind::codes).bits, age < 128   ? 8
                                                     : age < 384 ? 4
                                                                 : 2)
          << token->first;
      ++age;
    }
    EXPECT_EQ(age, n_coded);
  };
  ASSERT_TRUE(driver.read(700).ok());
  expect_stairs(700, 700 - 4 - 128);
  ASSERT_TRUE(driver.read(300).ok());
  for (std::size_t step = 0; step < 256; ++step) ASSERT_TRUE(driver.step().ok());
  expect_stairs(1256, 1000 - 4);
}

TEST(MiKv, holds_what_queries_look_at_exact_and_the_rest_at_two_bits) {
  CacheDriver driver({.recipe = "mikv", .n_layers = 1, .n_heads = 1, .n_kv_heads = 1});
  ASSERT_TRUE(driver.read(1000).ok());
  std::size_t n_exact = 0, n_coded = 0;
  for (const auto& [position, token] : driver.decode(0, 0)) {
    const bool is_exact = token.layout == nullptr || token.layout->k.is_exact();
    ++(is_exact ? n_exact : n_coded);
    if (!is_exact) {
      EXPECT_EQ(token.layout->k.at(PlaneKind::codes).bits, 2) << position;
    }
  }
  EXPECT_EQ(n_exact, 200u);
  EXPECT_EQ(n_coded, 800u);
}

// They were lost without a word. A codec for where memory is short is none of the recipe's own.
TEST(Tiers, beyond_the_recipe_s_codecs_are_held_at_its_last) {
  std::string json(Recipe::builtin("mikv").value().json());
  const std::string exact = R"({"k":"exact","v":"exact"},)";
  ASSERT_NE(json.find(exact), std::string::npos) << json;
  json.erase(json.find(exact), exact.size());
  const std::string coarser = R"({"use":"turboquant","bits":2})";
  const std::string room =
      R"({"room":[{"codec":{"k":)" + coarser + R"(,"v":)" + coarser + "}}]," + json.substr(1);
  for (const std::string& recipe : {json, room}) {
    CacheDriver driver(
        {.recipe = recipe, .keep = 0.5, .n_layers = 1, .n_heads = 1, .n_kv_heads = 1});
    ASSERT_TRUE(driver.read(700).ok());
    const DecodedLane lane = driver.decode(0, 0);
    EXPECT_EQ(lane.size(), 350u);
    for (const auto& [position, token] : lane) {
      if (token.layout != nullptr) {
        EXPECT_NE(token.layout->k.find(PlaneKind::channel_factors), nullptr) << position;
      }
    }
  }
}

}  // namespace
}  // namespace satchel::kvcache
