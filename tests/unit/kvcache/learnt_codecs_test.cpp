// Codecs that find something out about their page before they code it, codebooks or factors: known
// values by hand, and what sets them apart.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "kvcache/layout/tier_layouts.h"
#include "unit/kvcache/cache_driver.h"
#include "unit/kvcache/codec_fixture.h"

namespace satchel::kvcache {
namespace {

using kernels::Plane;
using kernels::PlaneKind;
using testing::FloatNear;
using testing::Pointwise;
using Operand = Codec::Operand;

std::vector<float> plane_values(const std::vector<std::byte>& page, const Plane& plane) {
  std::vector<float> values;
  for (std::size_t i = 0; i < plane.bytes / sizeof(Half); ++i)
    values.push_back(float_at(page.data(), plane, i));
  return values;
}

// Every channel has the values 0, 1, 2 and 10, in equal parts: middle 5, half a width 5.
TEST(KvQuant, finds_the_levels_of_unequal_steps) {
  const CodedOperand nuq("kvquant", Operand::k, 16, R"({ "bits": 2, "outliers": 0 })", 32);
  constexpr float kLevels[] = {0, 1, 2, 10};
  std::vector<float> x(32 * 16);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = kLevels[(i / 16 + i % 16) % 4];
  const std::vector<std::byte> page = nuq.encode(x);
  EXPECT_THAT(plane_values(page, nuq.operand.at(PlaneKind::codebook)),
              Pointwise(FloatNear(5e-4f), {-1.0f, -0.8f, -0.6f, 1.0f}));
  EXPECT_THAT(plane_values(page, nuq.operand.at(PlaneKind::zero)), testing::Each(5.0f));
  EXPECT_THAT(plane_values(page, nuq.operand.at(PlaneKind::scale)), testing::Each(5.0f));
  const std::vector<unsigned> codes = nuq.codes(x);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(codes[i], (i / 16 + i % 16) % 4);
  EXPECT_THAT(nuq.decode(page, 32), Pointwise(FloatNear(3e-3f), x));
}

TEST(KvQuant, keeps_what_stands_out_as_it_is_and_the_range_of_the_rest_narrow) {
  for (const Operand which : {Operand::k, Operand::v}) {
    const CodedOperand nuq("kvquant", which, 64);
    std::vector<float> x = some_values(128, 64, 3, 1);
    const std::vector<float> plain = nuq.back(x);
    for (const std::size_t cell : {0u, 700u, 701u, 8191u}) x[cell] = 500;
    const std::vector<float> back = nuq.back(x);
    for (const std::size_t cell : {0u, 700u, 701u, 8191u}) EXPECT_EQ(back[cell], 500);
    double before = 0, after = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (x[i] == 500) continue;
      before += std::pow(plain[i] - x[i], 2);
      after += std::pow(back[i] - x[i], 2);
    }
    EXPECT_LT(after, 1.05 * before);
  }
}

TEST(KvQuant, codes_each_value_as_the_nearest_level_of_its_vector) {
  const CodedOperand nuq("kvquant", Operand::v, 80, R"({ "bits": 3, "outliers": 0 })");
  const std::vector<float> x = some_values(100, 80, 5);
  const std::vector<std::byte> page = nuq.encode(x);
  const std::vector<float> back = nuq.decode(page, 100);
  const std::vector<float> book = plane_values(page, nuq.operand.at(PlaneKind::codebook));
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float scale = float_at(page.data(), nuq.operand.at(PlaneKind::scale), i / 80);
    const float zero = float_at(page.data(), nuq.operand.at(PlaneKind::zero), i / 80);
    float least = 1e9f;
    for (const float level : book) least = std::min(least, std::abs(level * scale + zero - x[i]));
    ASSERT_LE(std::abs(back[i] - x[i]), least * 1.0001f + 1e-5f);
  }
}

TEST(KvQuant, passes_by_an_outlier_that_lies_nowhere) {
  const CodedOperand nuq("kvquant", Operand::k, 16);
  std::vector<std::byte> page = nuq.encode(some_values(128, 16, 1));
  const Plane& places = nuq.operand.at(PlaneKind::outlier_places);
  std::fill_n(page.begin() + places.at, places.bytes, std::byte{255});
  for (const float value : nuq.decode(page, 128)) EXPECT_TRUE(std::isfinite(value));
}

// Four pairs of orthogonal vectors with singular values 8, 4, 2 and 1 (all times 16).
std::vector<float> of_rank_four() {
  std::vector<float> x(32 * 16);
  const auto walsh = [](std::size_t which, std::size_t i) {
    return std::popcount(which & i) % 2 == 0 ? 1.0f : -1.0f;
  };
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t r = 0; r < 4; ++r)
      x[i] += static_cast<float>(8 >> r) * walsh(r + 1, i / 16) * walsh(r + 5, i % 16);
  return x;
}

TEST(ShadowKv, gives_keys_of_its_rank_back) {
  const CodedOperand four("shadowkv", Operand::k, 16, R"({ "rank": 0.25 })", 32);
  EXPECT_EQ(four.operand.at(PlaneKind::token_factors).count, 4);
  const std::vector<float> x = of_rank_four();
  EXPECT_THAT(four.back(x), Pointwise(FloatNear(0.01f), x));
}

TEST(ShadowKv, leaves_out_the_smallest_singular_values) {
  const CodedOperand two("shadowkv", Operand::k, 16, R"({ "rank": 0.125 })", 32);
  const std::vector<float> x = of_rank_four();
  EXPECT_NEAR(error_share(x, two.back(x)), (4 + 1) / 85.0, 1e-3);
}

// Each stretch of four channels has one of sixteen patterns.
TEST(A2Ats, holds_as_many_patterns_as_it_has_codewords) {
  const CodedOperand words("a2ats", Operand::k, 16, R"({ "weighted": false })");
  std::vector<float> x(128 * 16);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::size_t pattern = (i / 16) / 8;  // eight tokens each
    x[i] = static_cast<float>((pattern * 5 + i % 4 * 3) % 16) - 8;
  }
  EXPECT_EQ(words.back(x), x);
}

TEST(A2Ats, misses_less_than_the_variance_of_a_page_s_keys) {
  for (const char* width : {"4", "8", "16"}) {
    const CodedOperand words("a2ats", Operand::k, 64,
                             R"({ "weighted": false, "width": )" + std::string(width) + "}");
    std::vector<float> x = some_values(128, 64, 4);
    const std::vector<float> back = words.back(x);
    std::vector<double> means(64);
    for (std::size_t i = 0; i < x.size(); ++i) means[i % 64] += static_cast<double>(x[i]) / 128;
    double missed = 0, variance = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      missed += std::pow(static_cast<double>(back[i] - x[i]), 2);
      variance += std::pow(static_cast<double>(x[i]) - means[i % 64], 2);
    }
    EXPECT_LT(missed, 0.8 * variance) << width;
  }
}

// Coordinates that are channels, the odd ones ten times as large as the even.
struct OddTenfold {
  std::vector<float> to = std::vector<float>(16 * 16), from = to;
  OddTenfold() {
    for (std::size_t c = 0; c < 16; ++c) {
      to[c * 17] = c % 2 == 1 ? 10 : 1;
      from[c * 17] = 1 / to[c * 17];
    }
  }
};
double missed(const std::vector<Half>& x, const std::vector<float>& back, std::size_t odd) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (i % 2 == odd) sum += std::pow(static_cast<double>(back[i] - half_to_float(x[i])), 2);
  return sum;
}

TEST(A2Ats, is_near_where_queries_look_and_needs_not_be_where_they_do_not) {
  const OddTenfold odd;
  const auto weighted = make<Codec>(StageKind::codec, "a2ats");
  EXPECT_TRUE(weighted->is_calibrated());
  kernels::PageLayout layout = layout_of(*weighted, 16, 128);
  EXPECT_EQ(layout.k.transform, kernels::Transform::basis);
  layout.k.basis = {.to = odd.to.data(), .from = odd.from.data()};
  const auto plain = make<Codec>(StageKind::codec, "a2ats", R"({ "weighted": false })");
  EXPECT_FALSE(plain->is_calibrated());
  const std::vector<Half> x = test::random_halves(128 * 16, 16, 7, 1);
  const auto by_query = round_trip(layout, x, x, rising(128)).k;
  const auto by_size = round_trip(layout_of(*plain, 16, 128), x, x, rising(128)).k;
  EXPECT_LT(missed(x, by_query, 1), 0.5 * missed(x, by_size, 1));
  EXPECT_GT(missed(x, by_query, 0), missed(x, by_size, 0));
}

// In the coordinates of a basis that swaps the halves of the channels, the first quarter is kept.
TEST(Matryoshka, keeps_the_first_coordinates_of_its_lane_and_the_mean_of_the_rest) {
  std::vector<float> to(32 * 32);
  for (std::size_t c = 0; c < 32; ++c) to[c * 32 + (c + 16) % 32] = 1;
  const auto codec = make<Codec>(StageKind::codec, "matryoshka", R"({ "keep": 0.25 })");
  kernels::PageLayout layout = layout_of(*codec, 32, 128);
  layout.k.basis = {.to = to.data(), .from = to.data()};  // its own inverse, transposed
  const std::vector<Half> x = test::random_halves(128 * 32, 32, 2, 1);
  const CodedPage page = round_trip(layout, x, x, rising(128));
  std::vector<double> means(32);
  for (std::size_t i = 0; i < x.size(); ++i)
    means[i % 32] += static_cast<double>(half_to_float(x[i])) / 128;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto exact = static_cast<double>(half_to_float(x[i]));
    const bool is_kept = i % 32 >= 16 && i % 32 < 24;
    ASSERT_NEAR(page.k[i], is_kept ? exact : means[i % 32], is_kept ? 0.1 : 1e-3) << i % 32;
    ASSERT_EQ(page.v[i], half_to_float(x[i]));
  }
  EXPECT_DOUBLE_EQ(bits_per_value(*codec, Operand::k, 128), 2 + 32.0 / 128);
}

std::string recipe_with(const std::string& codec) {
  return R"({ "recipe": 1, "name": "klt-like", "source": "ours", "differs": "nothing", "keep": 1,
              "trigger": "never", "reader": "all",
              "codec": { "k": ")" +
         codec + R"(", "v": "exact" } })";
}

TEST(Matryoshka, is_refused_for_a_model_without_bases_with_what_to_do) {
  const Recipe recipe = Recipe::parse(recipe_with("matryoshka")).value();
  const CacheDriver with({.recipe = recipe_with("a2ats"), .n_layers = 1});
  CacheShape shape = with.shape();
  EXPECT_TRUE(TierLayouts::make(shape, recipe.pipeline()).ok());
  shape.key_bases = nullptr;
  const auto layouts = TierLayouts::make(shape, recipe.pipeline());
  ASSERT_FALSE(layouts.ok());
  EXPECT_EQ(layouts.error().code, "CODEC_NEEDS");
  EXPECT_THAT(layouts.error().message, testing::HasSubstr("satchel calibrate"));
}

TEST(A2Ats, takes_every_lane_s_own_coordinates_and_turns_keys_where_there_are_none) {
  for (const double fall : {1.0, 0.0}) {
    CacheDriver driver({.recipe = recipe_with("a2ats"),
                        .n_layers = 1,
                        .n_heads = 2,
                        .n_kv_heads = 2,
                        .basis_fall = fall});
    const TierLayouts layouts =
        TierLayouts::make(driver.shape(), driver.recipe().pipeline()).value();
    for (std::size_t lane = 0; lane < driver.n_lanes(); ++lane) {
      const kernels::OperandLayout& k = layouts.of_lane(kTierRecipe, lane, {.head_dim = 64}, 128).k;
      EXPECT_EQ(k.transform, fall > 0 ? kernels::Transform::basis : kernels::Transform::hadamard);
      if (fall > 0) {
        EXPECT_EQ(k.basis, driver.shape().key_bases->lanes[lane].view());
      }
    }
    EXPECT_TRUE(driver.read(200).ok());
  }
}

}  // namespace
}  // namespace satchel::kvcache
