// The recipe that keeps everything, against plain loops over all tokens.
#include <numeric>

#include <gtest/gtest.h>

#include "cache_driver.h"

namespace satchel::kvcache {
namespace {

std::vector<std::int32_t> first_positions(std::size_t n) {
  std::vector<std::int32_t> positions(n);
  std::iota(positions.begin(), positions.end(), 0);
  return positions;
}

void expect_all_kept(CacheDriver& driver, std::size_t n_tokens) {
  ASSERT_EQ(driver.cache().n_tokens(), n_tokens);
  for (std::size_t layer = 0; layer < driver.shape().n_layers; ++layer) {
    for (std::size_t head = 0; head < driver.shape().n_kv_heads; ++head)
      ASSERT_EQ(driver.kept(layer, head), first_positions(n_tokens));
    const double error = driver.attention_error(layer, n_tokens, [&](std::size_t head) {
      return driver.masked(layer, head, first_positions(n_tokens));
    });
    EXPECT_LE(error, 1e-5) << "layer " << layer;
  }
}

class FullPrompt : public testing::TestWithParam<std::size_t> {};

TEST_P(FullPrompt, keeps_every_token_of_a_prompt_at_its_position_and_value) {
  CacheDriver driver({.n_layers = 2});
  driver.check_attention = GetParam() <= 300;
  const Result<void> read = driver.prompt(GetParam());
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_LE(driver.worst_error, 1e-5);
  expect_all_kept(driver, GetParam());
}
INSTANTIATE_TEST_SUITE_P(Lengths, FullPrompt,
                         testing::Values(1, 3, 4, 5, 127, 128, 129, 131, 132, 133, 255, 256, 257,
                                         259, 260, 261, 600, 2000));

TEST(Cache, refuses_a_prompt_of_no_tokens) {
  CacheDriver driver({});
  const auto reading = driver.cache().begin_prompt(0);
  ASSERT_FALSE(reading.ok());
  EXPECT_EQ(reading.error().code, "PROMPT_EMPTY");
}

TEST(Cache, decoding_from_empty_equals_reading_a_prompt) {
  CacheDriver by_steps({.n_layers = 2, .n_heads = 2, .n_kv_heads = 1});
  CacheDriver by_prompt({.n_layers = 2, .n_heads = 2, .n_kv_heads = 1});
  for (const std::size_t until : {1u, 4u, 5u, 132u, 259u, 260u, 261u, 388u, 520u}) {
    while (by_steps.cache().n_tokens() < until) ASSERT_TRUE(by_steps.step().ok());
    expect_all_kept(by_steps, until);
  }
  ASSERT_TRUE(by_prompt.prompt(520).ok());
  EXPECT_EQ(by_steps.bytes(), by_prompt.bytes());
}

TEST(Cache, turns_of_prompts_and_steps_hold_every_token) {
  for (const std::size_t n_heads : {2u, 6u}) {  // groups of 1 and 3
    CacheDriver driver({.n_layers = 2, .n_heads = n_heads, .n_kv_heads = 2});
    ASSERT_TRUE(driver.prompt(300).ok());
    for (int i = 0; i < 150; ++i) ASSERT_TRUE(driver.step().ok());
    ASSERT_TRUE(driver.prompt(1).ok());
    ASSERT_TRUE(driver.prompt(200, 7).ok());
    for (int i = 0; i < 140; ++i) ASSERT_TRUE(driver.step().ok());
    ASSERT_TRUE(driver.prompt(129).ok());
    EXPECT_LE(driver.worst_error, 1e-5);
    expect_all_kept(driver, 300 + 150 + 1 + 200 + 140 + 129);
  }
}

}  // namespace
}  // namespace satchel::kvcache
