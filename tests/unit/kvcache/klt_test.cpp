// The ladder's codec: bits by coordinate, bases by lane, and what happens without them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "kvcache/layout/tier_layouts.h"
#include "kvcache/recipes/pipeline.h"
#include "unit/kvcache/cache_driver.h"
#include "unit/kvcache/snapshot_fixture.h"

namespace satchel::kvcache {
namespace {

using testing::HasSubstr;

CacheDriver driver_of(const std::string& recipe, double basis_fall = 1) {
  return CacheDriver({.recipe = recipe, .n_layers = 2, .head_dim = 64, .basis_fall = basis_fall});
}
TierLayouts layouts_of(const CacheDriver& driver) {
  return TierLayouts::make(driver.shape(), driver.recipe().pipeline()).value();
}
std::size_t sum_of_bits(const kernels::OperandLayout& keys, std::size_t head_dim) {
  return std::accumulate(
      keys.quad_bits.begin(),
      keys.quad_bits.begin() + static_cast<std::ptrdiff_t>(head_dim / kernels::kQuad),
      std::size_t{0});
}

TEST(Klt, bits_average_what_was_asked_for_and_fall_from_the_first_coordinate) {
  for (const std::size_t bits : {2u, 3u, 4u}) {
    const CacheDriver driver = driver_of("ladder-" + std::to_string(bits));
    const TierLayouts layouts = layouts_of(driver);
    const kernels::PageLayout& page = layouts.of_lane(kTierRecipe, 1, {.head_dim = 64}, 128);
    EXPECT_EQ(sum_of_bits(page.k, 64), bits * 16);
    EXPECT_GT(page.k.quad_bits[0], page.k.quad_bits[15]);
    // codes, a scale and a zero per channel, a scale per token, positions
    EXPECT_EQ(page.bytes, 2 * 128 * 64 * bits / 8 + 64 * 4 + 128 * 2 + 128 * 4);
  }
}

TEST(Klt, every_lane_has_its_own_basis_and_as_many_bytes_as_without) {
  const CacheDriver with = driver_of("ladder-3"), without = driver_of("ladder-3", 0);
  const TierLayouts layouts = layouts_of(with), plain = layouts_of(without);
  for (std::size_t lane = 0; lane < with.n_lanes(); ++lane)
    for (const std::size_t n : {1u, 33u, 128u}) {
      const kernels::PageLayout& own = layouts.of_lane(kTierRecipe, lane, {.head_dim = 64}, n);
      EXPECT_EQ(own.k.transform, kernels::Transform::basis);
      EXPECT_EQ(own.k.basis, with.shape().key_bases->lanes[lane].view());
      const kernels::PageLayout& transformed =
          plain.of_lane(kTierRecipe, lane, {.head_dim = 64}, n);
      EXPECT_EQ(transformed.k.transform, kernels::Transform::hadamard);
      EXPECT_EQ(transformed.k.quad_bits[0], 3);
      EXPECT_EQ(transformed.k.quad_bits[15], 3);
      EXPECT_EQ(transformed.bytes, own.bytes);
      // A page that waits for a decision has no basis.
      EXPECT_EQ(layouts.of_lane(kTierEight, lane, {.head_dim = 64}, n).k.transform,
                kernels::Transform::none);
    }
}

TEST(Klt, is_for_heads_of_every_size_with_what_its_header_says_of_their_bits) {
  for (const auto& [head_dim, more] : {std::pair<std::size_t, double>{32, 0},
                                       {48, 0.17},
                                       {64, 0},
                                       {80, 0.1},
                                       {96, 0},
                                       {128, 0},
                                       {256, 0}}) {
    const CacheDriver driver(
        {.recipe = "ladder-2", .n_layers = 1, .n_kv_heads = 1, .head_dim = head_dim});
    const TierLayouts layouts = layouts_of(driver);
    const kernels::PageLayout& page = layouts.of_lane(kTierRecipe, 0, {.head_dim = head_dim}, 128);
    EXPECT_EQ(page.k.transform, kernels::Transform::basis);
    const double bits = static_cast<double>(sum_of_bits(page.k, head_dim)) * kernels::kQuad /
                        static_cast<double>(head_dim);
    EXPECT_NEAR(bits, 2 + more, 0.005) << head_dim;
  }
}

// Pages made in other coordinates cannot be read: the chat is, again.
TEST(Klt, a_saved_cache_comes_back_only_to_the_bases_it_was_made_with) {
  const CacheDriver::Setup setup{.recipe = "ladder-3", .n_layers = 2, .head_dim = 64};
  test::MemoryRecordStore store;
  Saved first(store, setup);
  ASSERT_TRUE(first.driver.read(700).ok());
  ASSERT_TRUE(first.save().ok());
  {
    Saved alike(store, setup);
    const auto report = alike.restore(700);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(report->n_tokens, 700u);
    EXPECT_EQ(alike.driver.bytes(), first.driver.bytes());
  }
  const auto expect_read_again = [&](const CacheDriver::Setup& with) {
    Saved other(store, with);
    const auto report = other.restore(700);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(report->reason, RereadReason::other_format);
    EXPECT_EQ(report->n_tokens, 0u);
  };
  for (const double fall : {2.0, 0.0}) {
    CacheDriver::Setup with = setup;
    with.basis_fall = fall;
    expect_read_again(with);
  }
  // The same matrices, but keys that were taken into them otherwise.
  for (const KeyBasesForm form : {KeyBasesForm{.version = kKeyBasesVersion + 1},
                                  KeyBasesForm{.frame_tokens = kernels::kFrameTokens / 2}}) {
    CacheDriver::Setup with = setup;
    with.basis_form = form;
    expect_read_again(with);
  }
}

}  // namespace
}  // namespace satchel::kvcache
