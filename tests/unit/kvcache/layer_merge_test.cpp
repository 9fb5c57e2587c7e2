// Layers merged in pairs, as MiniCache does: rows against numpy, and pages of a cache.
#include "kvcache/comparison/layer_merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "support/lanes.h"
#include "unit/kvcache/cache_driver.h"

namespace satchel::kvcache {
namespace {

using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

TEST(LayerMerge, rows_are_what_numpy_makes_of_them) {
  test::GoldenFile file("codec/layer_merge.bin");
  const auto head = file.take<std::uint32_t>(2);
  const auto numbers = file.take<double>(2);
  const std::size_t n = std::size_t{head[0]} * head[1];
  auto x = file.take<float>(n), y = file.take<float>(n);
  const auto n_retained = file.take<std::uint32_t>(1)[0];
  const auto want_x = file.take<float>(n), want_y = file.take<float>(n);
  EXPECT_EQ(file.n_left(), 0u);
  EXPECT_EQ(merge_rows({.towards_deeper = numbers[0], .retained_share = numbers[1]}, head[1], x, y),
            n_retained);
  EXPECT_THAT(x, Pointwise(FloatNear(5e-3f), want_x));
  EXPECT_THAT(y, Pointwise(FloatNear(5e-3f), want_y));
}

// By hand: lengths 3 and 4, a right angle between them.
TEST(LayerMerge, directions_meet_where_the_share_says_and_lengths_stay) {
  const auto merged = [](double towards) {
    std::vector<float> x = {3, 0}, y = {0, 4};
    EXPECT_EQ(merge_rows({.towards_deeper = towards, .retained_share = 0}, 2, x, y), 0u);
    x.insert(x.end(), y.begin(), y.end());
    return x;
  };
  EXPECT_THAT(merged(0.5), Pointwise(FloatNear(2e-3f), {2.1213f, 2.1213f, 2.8284f, 2.8284f}));
  EXPECT_THAT(merged(0.6), Pointwise(FloatNear(2e-3f), {1.7634f, 2.4271f, 2.3511f, 3.2361f}));
  EXPECT_THAT(merged(0), Pointwise(FloatNear(2e-3f), {3.0f, 0.0f, 4.0f, 0.0f}));
}

TEST(LayerMerge, the_tokens_that_differ_most_are_left_as_they_are) {
  // Angles 0, a little, a right angle, less.
  const std::vector<float> before_x = {1, 0, 1, 0, 1, 0, 1, 0},
                           before_y = {2, 0, 2, 0.2f, 0, 2, 2, 0.1f};
  std::vector<float> x = before_x, y = before_y;
  EXPECT_EQ(merge_rows({.retained_share = 0.25}, 2, x, y), 1u);
  EXPECT_EQ(x[4], 1);
  EXPECT_EQ(x[5], 0);
  EXPECT_EQ(y[4], 0);
  EXPECT_EQ(y[5], 2);
  EXPECT_EQ(x[0], 1);  // one direction already
  EXPECT_EQ(y[0], 2);
  EXPECT_NE(x[3], before_x[3]);
  EXPECT_NE(y[3], before_y[3]);
}

// [token][k, v] of a lane's body, by position.
struct Body {
  std::vector<float> first, deeper;
};
Body body_of(CacheDriver& driver, std::size_t first_layer, bool of_keys) {
  const DecodedLane a = driver.decode(first_layer, 0), b = driver.decode(first_layer + 1, 0);
  Body out;
  for (const auto& [position, token] : a) {
    if (token.layout == nullptr) continue;  // sinks and tail
    const auto& other = b.at(position);
    const auto add = [](std::vector<float>& to, const std::vector<float>& row) {
      to.insert(to.end(), row.begin(), row.end());
    };
    add(out.first, of_keys ? token.k : token.v);
    add(out.deeper, of_keys ? other.k : other.v);
  }
  return out;
}

TEST(LayerMerge, pages_of_the_deeper_half_are_merged_once_and_the_rest_stays) {
  CacheDriver driver({.n_layers = 4});
  ASSERT_TRUE(driver.read(300).ok());
  const Body shallow = body_of(driver, 0, true), keys = body_of(driver, 2, true),
             values = body_of(driver, 2, false);
  const std::size_t d = driver.shape().layers[0].head_dim, n = keys.first.size() / d;
  ASSERT_GE(n, 128u);

  LayerMerge merge;
  ASSERT_TRUE(merge.merge_new_pages(driver.cache()).ok());
  EXPECT_EQ(body_of(driver, 0, true).first, shallow.first);
  EXPECT_EQ(body_of(driver, 0, true).deeper, shallow.deeper);
  for (const bool of_keys : {true, false}) {
    const Body& before = of_keys ? keys : values;
    const Body after = body_of(driver, 2, of_keys);
    std::size_t n_kept = 0, n_alike = 0;
    for (std::size_t t = 0; t < n; ++t) {
      double dot = 0, xx = 0, yy = 0;
      bool is_kept = true;
      for (std::size_t i = t * d; i < (t + 1) * d; ++i) {
        dot += double{after.first[i]} * double{after.deeper[i]};
        xx += std::pow(double{after.first[i]}, 2);
        yy += std::pow(double{after.deeper[i]}, 2);
        is_kept = is_kept && after.first[i] == before.first[i];
      }
      n_kept += is_kept ? 1u : 0u;
      n_alike += dot > 0.999 * std::sqrt(xx * yy) ? 1u : 0u;
    }
    EXPECT_EQ(n_kept + n_alike, n);
    EXPECT_GT(n_kept, 0u);
    EXPECT_LE(n_kept, n / 10);
  }
  const std::size_t saved = merge.saved_bytes();
  EXPECT_GT(saved, 0u);
  const Body once = body_of(driver, 2, true);
  ASSERT_TRUE(merge.merge_new_pages(driver.cache()).ok());
  EXPECT_EQ(merge.saved_bytes(), saved);
  EXPECT_EQ(body_of(driver, 2, true).first, once.first);
}

TEST(LayerMerge, saves_a_row_of_each_pair_but_for_two_lengths_and_what_is_kept) {
  CacheDriver driver({.n_layers = 2, .n_heads = 1, .n_kv_heads = 1});
  ASSERT_TRUE(driver.read(4 + 128 + 128).ok());  // no pair: layers 1 and 2, of which one is there
  LayerMerge none;
  const auto refused = none.merge_new_pages(driver.cache());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "LAYER_MERGE");
  EXPECT_THAT(refused.error().message, HasSubstr("no two neighbours"));

  CacheDriver four({.n_layers = 4, .n_heads = 1, .n_kv_heads = 1});
  ASSERT_TRUE(four.read(4 + 128 + 128).ok());
  const std::size_t d = four.shape().layers[0].head_dim,
                    n = body_of(four, 2, true).first.size() / d;
  ASSERT_EQ(n, 128u);
  LayerMerge merge;
  ASSERT_TRUE(merge.merge_new_pages(four.cache()).ok());
  EXPECT_EQ(merge.saved_bytes(), 2 * ((128 - 6) * (2 * d - 4) - 6 * 2));
}

TEST(LayerMerge, is_refused_where_pages_are_not_exact) {
  CacheDriver driver({.recipe = "ladder-4", .n_layers = 4});
  ASSERT_TRUE(driver.read(600).ok());
  LayerMerge merge;
  const auto refused = merge.merge_new_pages(driver.cache());
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("Use the recipe \"full\""));
}

}  // namespace
}  // namespace satchel::kvcache
