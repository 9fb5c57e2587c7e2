// The recipe that keeps everything, against plain loops over all tokens.
#include <numeric>

#include <gtest/gtest.h>

#include "cache_driver.h"
#include "support/open_named.h"

namespace satchel::kvcache {
namespace {

std::vector<std::int32_t> first_positions(std::size_t n) {
  std::vector<std::int32_t> positions(n);
  std::iota(positions.begin(), positions.end(), 0);
  return positions;
}

void expect_all_kept(CacheDriver& driver, std::size_t n_tokens) {
  ASSERT_EQ(driver.cache().n_tokens(), n_tokens);
  for (std::size_t layer = 0; layer < driver.shape().n_layers(); ++layer) {
    for (std::size_t head = 0; head < driver.shape().layers[layer].n_kv_heads; ++head)
      ASSERT_EQ(driver.kept(layer, head), first_positions(n_tokens));
    const double error = driver.attention_error(layer, n_tokens, [&](std::size_t head) {
      return driver.masked(layer, head, first_positions(n_tokens));
    });
    EXPECT_LE(error, 1e-5) << "layer " << layer;
  }
}

struct Case {
  const char* backend;
  std::size_t n_tokens;
};
class FullPrompt : public testing::TestWithParam<Case> {};

TEST_P(FullPrompt, keeps_every_token_of_a_prompt_at_its_position_and_value) {
  CacheDriver driver({.n_layers = 2, .backend = GetParam().backend});
  driver.check_attention = GetParam().n_tokens <= 300;
  const auto read = driver.read(GetParam().n_tokens);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_LE(driver.worst_error, test::limit_on("cpu", 1e-5, 1e-3));
  expect_all_kept(driver, GetParam().n_tokens);
}
std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::size_t n : {1u, 3u, 4u, 5u, 127u, 128u, 129u, 131u, 132u, 133u, 255u, 256u, 257u,
                              259u, 260u, 261u, 600u, 2000u})
    all.push_back({"reference", n});
  for (const std::size_t n : {1u, 4u, 5u, 132u, 260u, 600u}) all.push_back({"cpu", n});
  return all;
}
INSTANTIATE_TEST_SUITE_P(Lengths, FullPrompt, testing::ValuesIn(cases()), [](const auto& row) {
  return row.param.backend + ("_" + std::to_string(row.param.n_tokens));
});

TEST(Cache, refuses_a_text_of_no_tokens) {
  CacheDriver driver({});
  const auto reading = driver.cache().begin_prefill({.n_tokens = 0});
  ASSERT_FALSE(reading.ok());
  EXPECT_EQ(reading.error().code, "PROMPT_EMPTY");
}

TEST(Cache, decoding_from_empty_equals_reading_a_prompt) {
  CacheDriver by_steps({.n_layers = 2, .n_heads = 2, .n_kv_heads = 1});
  CacheDriver by_prompt({.n_layers = 2, .n_heads = 2, .n_kv_heads = 1});
  by_steps.check_attention = false;
  for (const std::size_t until : {1u, 4u, 5u, 132u, 259u, 260u, 261u, 388u, 520u}) {
    while (by_steps.cache().n_tokens() < until) ASSERT_TRUE(by_steps.step().ok());
    expect_all_kept(by_steps, until);
  }
  ASSERT_TRUE(by_prompt.read(520).ok());
  EXPECT_EQ(by_steps.bytes(), by_prompt.bytes());
}

TEST(Cache, turns_of_every_kind_of_text_hold_every_token) {
  for (const char* backend : {"reference", "cpu"})
    for (const std::size_t n_heads : {2u, 6u}) {  // groups of 1 and 3
      CacheDriver driver({.n_layers = 2, .n_heads = n_heads, .n_kv_heads = 2, .backend = backend});
      ASSERT_TRUE(driver.read(40, {.kind = SegmentKind::pinned}).ok());
      ASSERT_TRUE(driver.read(300).ok());
      driver.check_attention = false;
      for (int i = 0; i < 150; ++i) ASSERT_TRUE(driver.step().ok());
      driver.check_attention = true;
      ASSERT_TRUE(driver.cache().compactor().end_turn().ok());
      ASSERT_TRUE(driver.read(1, {.kind = SegmentKind::message}).ok());
      ASSERT_TRUE(driver.read(200, {.kind = SegmentKind::message, .chunk = 7}).ok());
      for (int i = 0; i < 20; ++i) ASSERT_TRUE(driver.step().ok());
      ASSERT_TRUE(driver.cache().compactor().end_turn().ok());
      ASSERT_TRUE(driver.read(129, {.kind = SegmentKind::answer}).ok());
      EXPECT_LE(driver.worst_error, test::limit_on("cpu", 1e-5, 1e-3));
      expect_all_kept(driver, 40 + 300 + 150 + 1 + 200 + 20 + 129);
    }
}

// Heads of several sizes in one cache, a window in every other layer.
TEST(Cache, layers_may_differ_and_a_window_bounds_its_lanes) {
  std::vector<LayerShape> layers;
  for (const std::size_t head_dim : {32u, 80u, 96u, 128u}) {
    CacheDriver of_dim({.n_layers = 1, .n_heads = 4, .n_kv_heads = 2, .head_dim = head_dim});
    LayerShape layer = of_dim.shape().layers[0];
    if (layers.size() % 2 == 1) {
      layer.n_kv_heads = 1;
      layer.window = 200;
      layer.soft_cap = 20;
    }
    layers.push_back(layer);
  }
  CacheDriver driver({.layers = layers});
  ASSERT_TRUE(driver.read(700).ok());
  driver.check_attention = false;
  for (int i = 0; i < 300; ++i) ASSERT_TRUE(driver.step().ok());
  driver.check_attention = true;
  ASSERT_TRUE(driver.read(500, {.kind = SegmentKind::message}).ok());
  EXPECT_LE(driver.worst_error, test::limit_on("cpu", 1e-5, 1e-3));
  for (std::size_t layer = 0; layer < layers.size(); ++layer)
    for (std::size_t head = 0; head < layers[layer].n_kv_heads; ++head) {
      const std::vector<std::int32_t> kept = driver.kept(layer, head);
      if (layers[layer].window == 0) {
        EXPECT_EQ(kept, first_positions(1500));
        continue;
      }
      // All that a later query can see, the sinks, and less than a page beyond.
      const auto needed = static_cast<std::size_t>(std::count_if(
          kept.begin(), kept.end(), [](std::int32_t position) { return position > 1300; }));
      EXPECT_EQ(needed, 199u);
      EXPECT_LE(kept.size(), 199 + 4 + kernels::kPageTokens);
    }
  EXPECT_LE(driver.attention_error(), 1e-5);
}

}  // namespace
}  // namespace satchel::kvcache
