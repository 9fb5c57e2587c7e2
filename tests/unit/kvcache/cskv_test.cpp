// The codec cskv: what it keeps, where its value bases come from, and models that have none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "kvcache/layout/tier_layouts.h"
#include "support/key_bases.h"
#include "support/lanes.h"
#include "unit/kvcache/cache_driver.h"
#include "unit/kvcache/codec_fixture.h"

namespace satchel::kvcache {
namespace {

using kernels::PlaneKind;
using testing::HasSubstr;

TEST(Cskv, has_the_values_that_numpy_finds_in_principal_components) {
  test::GoldenFile file("codec/cskv_values.bin");
  const auto head = file.take<std::uint32_t>(3);
  const std::size_t n = head[0], d = head[1];
  const auto components = file.take<float>(d * d), x = file.take<float>(n * d),
             want = file.take<float>(n * d);
  EXPECT_EQ(file.n_left(), 0u);
  CodedOperand values("cskv", Codec::Operand::v, d);
  EXPECT_EQ(values.operand.at(PlaneKind::token_factors).count, head[2]);
  values.operand.basis = {.to = components.data(), .from = components.data()};
  const std::vector<float> got = values.back(x);
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], 5e-3) << i;
  // Without its components it would miss much more.
  values.operand.basis = {};
  EXPECT_GT(error_share(x, values.back(x)), 4 * error_share(x, got));
}

TEST(Cskv, keeps_everything_at_full_rank_in_any_rotation) {
  std::vector<float> turn(32 * 32);  // swaps the halves
  for (std::size_t c = 0; c < 32; ++c) turn[c * 32 + (c + 16) % 32] = 1;
  CodedOperand values("cskv", Codec::Operand::v, 32, R"({ "rank": 1 })");
  values.operand.basis = {.to = turn.data(), .from = turn.data()};
  const std::vector<float> x = some_values(90, 32, 3);
  EXPECT_EQ(values.back(x), x);
}

TEST(Cskv, takes_the_bytes_that_its_head_states) {
  const auto bits = [](const char* params, Codec::Operand which) {
    return bits_per_value(*make<Codec>(StageKind::codec, "cskv", params), which, 64);
  };
  // 13 of 64 coordinates in 128 tokens, 51 means.
  for (const auto which : {Codec::Operand::k, Codec::Operand::v})
    EXPECT_DOUBLE_EQ(bits("{}", which), (16.0 * 13 + 16.0 * 51 / 128) / 64);
  const char* const four = R"({ "rank": 0.5, "bits": 4 })";
  EXPECT_DOUBLE_EQ(bits(four, Codec::Operand::k), 5 * 0.5 + 16.0 * 32 / 128 / 64);
  EXPECT_DOUBLE_EQ(bits(four, Codec::Operand::v), 4 * 0.5 + 32.0 / 64 + 16.0 * 32 / 128 / 64);
}

std::string recipe_of(const std::string& k, const std::string& v) {
  return R"({ "recipe": 1, "name": "cskv-like", "source": "ours", "differs": "nothing", "keep": 1,
              "trigger": "never", "reader": "all",
              "codec": { "k": ")" +
         k + R"(", "v": ")" + v + R"(" } })";
}

// Every lane's values in coordinates of its own: channels moved by as many places as it has lanes
// before it.
std::shared_ptr<const KeyBases> with_values(const CacheShape& shape, std::size_t more = 0) {
  KeyBases bases = *test::key_bases_of(shape, 1);
  for (std::size_t lane = 0; lane < bases.lanes.size(); ++lane) {
    const std::size_t d = bases.lanes[lane].head_dim;
    std::vector<float>& matrix = bases.values.emplace_back(d * d);
    for (std::size_t c = 0; c < d; ++c) matrix[c * d + (c + lane + more) % d] = 1;
  }
  return std::make_shared<const KeyBases>(KeyBases::make(std::move(bases)).value());
}

TEST(Cskv, has_every_lane_s_own_value_bases_and_says_so_in_what_is_saved) {
  const Recipe recipe = Recipe::parse(recipe_of("cskv", "cskv")).value();
  const CacheDriver driver({.recipe = recipe_of("exact", "exact"), .n_layers = 2});
  CacheShape shape = driver.shape();
  shape.key_bases = with_values(shape);
  const TierLayouts layouts = TierLayouts::make(shape, recipe.pipeline()).value();
  EXPECT_EQ(layouts.values_id(), shape.key_bases->values_id);
  EXPECT_NE(layouts.values_id(), with_values(shape, 1)->values_id);
  for (std::size_t lane = 0; lane < shape.n_lanes(); ++lane) {
    const auto& page = layouts.of_lane(kTierRecipe, lane, shape.layers[0].token(), 128);
    EXPECT_EQ(page.v.basis.to, shape.key_bases->values[lane].data());
    EXPECT_EQ(page.v.transform, kernels::Transform::none);
    EXPECT_EQ(page.k.basis, shape.key_bases->lanes[lane].view());
  }
  const Recipe exact = Recipe::parse(recipe_of("exact", "exact")).value();
  EXPECT_EQ(TierLayouts::make(shape, exact.pipeline()).value().values_id(), 0u);
}

TEST(Cskv, is_refused_for_a_model_without_bases_with_what_to_do) {
  const CacheDriver driver({.recipe = recipe_of("exact", "exact"), .n_layers = 1});
  CacheShape shape = driver.shape();
  const auto refusal = [&](const std::string& k, const std::string& v) {
    const Recipe recipe = Recipe::parse(recipe_of(k, v)).value();
    const auto layouts = TierLayouts::make(shape, recipe.pipeline());
    EXPECT_FALSE(layouts.ok());
    return layouts.ok() ? Error{} : layouts.error();
  };
  shape.key_bases = nullptr;
  EXPECT_EQ(refusal("cskv", "exact").code, "CODEC_NEEDS");
  EXPECT_THAT(refusal("cskv", "exact").message, HasSubstr("satchel calibrate"));
  EXPECT_THAT(refusal("exact", "cskv").message, HasSubstr("satchel calibrate --values"));
  shape.key_bases = test::key_bases_of(shape, 1);
  EXPECT_THAT(refusal("cskv", "cskv").message, HasSubstr("satchel calibrate --values"));
  EXPECT_TRUE(
      TierLayouts::make(shape, Recipe::parse(recipe_of("cskv", "exact")).value().pipeline()).ok());
}

}  // namespace
}  // namespace satchel::kvcache
