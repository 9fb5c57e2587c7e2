// /limit and /preset: what is taken for them, and what is said of what they would do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/cli/memory_command.h"

namespace satchel::app {
namespace {

using testing::HasSubstr;

TEST(MemoryCommand, is_read_with_and_without_now) {
  const auto limit = memory_command("/limit 40MB").value();
  ASSERT_TRUE(limit.has_value());
  EXPECT_EQ(limit->wish.limit_bytes, 40'000'000u);
  EXPECT_FALSE(limit->now);
  const auto preset = memory_command("/preset compact now").value();
  ASSERT_TRUE(preset.has_value());
  EXPECT_EQ(preset->wish.recipe->name(), "satchel");
  EXPECT_TRUE(preset->now);
  EXPECT_FALSE(memory_command("/memory").value().has_value());
  EXPECT_FALSE(memory_command("/limits 3").value().has_value());
}

TEST(MemoryCommand, says_what_is_wrong_with_it) {
  EXPECT_EQ(memory_command("/limit 0").error().code, "PARAM");
  EXPECT_EQ(memory_command("/limit much").error().code, "PARAM");
  EXPECT_EQ(memory_command("/preset none").error().code, "RECIPE");
}

TEST(MemoryCommand, what_would_happen_is_said_as_it_is_known) {
  runtime::MemoryChange change{
      .bytes_before = 96'000'000, .bytes_after = 32'000'000, .n_lane_tokens = 1000};
  EXPECT_THAT(describe(change), HasSubstr("no room to try"));
  change.n_lowered = 900;
  EXPECT_THAT(describe(change), HasSubstr("90.0 % of what is held goes to fewer bits"));
  EXPECT_THAT(describe(change), HasSubstr("is not measured"));
  change.cost = {.n_tokens = 64, .agreement = 0.984, .kl = 0.0022};
  EXPECT_THAT(describe(change), HasSubstr("98.4 %, KL 0.0022"));
  change.fits = false;
  change.limit_least = 30'800'000;
  EXPECT_THAT(describe(change), HasSubstr("the least limit for this chat is 30.8 MB"));
  EXPECT_THAT(describe({.bytes_before = 10, .bytes_after = 10}), HasSubstr("stays as it is"));
  const runtime::MemoryChange again{
      .bytes_before = 10, .bytes_after = 90, .n_reread = 1585, .reread_ms = 3000};
  EXPECT_THAT(describe(again), HasSubstr("1,585 tokens have to be read again"));
}

}  // namespace
}  // namespace satchel::app
