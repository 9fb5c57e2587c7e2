// /limit and /preset: what is taken for them, and what is said of what they would do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/cli/memory_command.h"
#include "runtime/limits/precision_floor.h"
#include "runtime/limits/presets.h"

namespace satchel::app {
namespace {

using testing::HasSubstr;

TEST(MemoryCommand, is_read_with_and_without_now) {
  const auto limit = memory_command("/limit 40MB").value();
  ASSERT_TRUE(limit.has_value());
  EXPECT_EQ(limit->request.limit_bytes, 40'000'000u);
  EXPECT_FALSE(limit->now);
  const auto preset = memory_command("/preset compact now").value();
  ASSERT_TRUE(preset.has_value());
  EXPECT_EQ(preset->request.recipe->name(), "satchel");
  EXPECT_TRUE(preset->now);
  EXPECT_FALSE(memory_command("/memory").value().has_value());
  EXPECT_FALSE(memory_command("/limits 3").value().has_value());
}

TEST(MemoryCommand, is_read_with_any_blanks_between_its_words) {
  for (const char* line : {"/preset same  now", "/preset\tsame \t now ", "/preset   same now"}) {
    const auto same = memory_command(line);
    ASSERT_TRUE(same.ok() && same->has_value()) << line;
    EXPECT_TRUE((*same)->same && (*same)->now) << line;
  }
  const auto limit = memory_command("/limit  40MB \t now");
  ASSERT_TRUE(limit.ok()) << limit.error().message;
  EXPECT_EQ((*limit)->request.limit_bytes, 40'000'000u);
  EXPECT_TRUE((*limit)->now);
  EXPECT_FALSE(memory_command("/preset know").ok()) << "no word of its own";
}

TEST(MemoryCommand, without_a_value_asks_what_it_is_now) {
  for (const char* line : {"/limit", "/limit  "}) {
    const auto limit = memory_command(line).value();
    ASSERT_TRUE(limit.has_value()) << line;
    EXPECT_TRUE(limit->asks());
    EXPECT_TRUE(limit->is_limit);
  }
  const auto preset = memory_command("/preset").value();
  ASSERT_TRUE(preset.has_value());
  EXPECT_TRUE(preset->asks());
  EXPECT_FALSE(preset->is_limit);
  EXPECT_FALSE(memory_command("/limit 40MB").value()->asks());
}

TEST(MemoryCommand, what_it_is_now_is_said_with_how_to_have_another) {
  kvcache::CacheStats stats;
  stats.arena_bytes = 60'000'000;
  stats.arena_used_bytes = 41'200'000;
  EXPECT_THAT(describe_limit(stats), HasSubstr("limit is 60.0 MB; 41.2 MB is in use"));
  EXPECT_THAT(describe_limit(stats), HasSubstr("\"/limit 40MB now\""));
  for (const char* name : {"full", "balanced", "compact", "extreme"})
    EXPECT_THAT(describe_preset(runtime::resolve_recipe(name).value(), "llama"),
                HasSubstr("The preset is " + std::string(name) + ", recipe"));
  const auto other = kvcache::Recipe::builtin("minikv").value().with_keep(0.3).value();
  EXPECT_THAT(describe_preset(other, "gpt-oss"),
              HasSubstr("The recipe is \"minikv\", which is not a preset; it keeps 30.0 %"));
  EXPECT_THAT(describe_preset(other, "gpt-oss"),
              HasSubstr("Presets: full, balanced, compact, extreme."));
  const auto raised = runtime::suited(runtime::resolve_recipe("balanced").value(), "gpt-oss");
  ASSERT_TRUE(raised.ok());
  EXPECT_THAT(describe_preset(*raised, "gpt-oss"),
              HasSubstr("The preset is balanced, recipe \"ladder-4\". With this model presets keep "
                        "keys in 16 bits"));
}

TEST(MemoryCommand, the_same_preset_reads_again_what_came_down_for_want_of_room) {
  const auto same = memory_command("/preset same now").value();
  ASSERT_TRUE(same.has_value());
  EXPECT_TRUE(same->same && same->now && !same->asks());
  const auto recipe = runtime::resolve_recipe("balanced").value();  // 4 bits, comes down to 3 and 2
  kvcache::CacheStats stats;
  stats.n_kept = 1000;
  stats.tiers = {{"exact", 0, 0},
                 {"8 bits", 0, 0},
                 {"klt 4 bits", 600, 0},
                 {"klt 3 bits", 0, 0},
                 {"klt 2 bits", 0, 0}};
  EXPECT_EQ(describe_coarser(recipe, stats), "");
  stats.tiers[2].n_tokens = 150;
  stats.tiers[3].n_tokens = 400;
  stats.tiers[4].n_tokens = 50;
  EXPECT_THAT(describe_coarser(recipe, stats), HasSubstr("45.0 % of the cache was lowered below"));
  EXPECT_THAT(describe_coarser(recipe, stats), HasSubstr("\"/preset same now\""));
}

TEST(MemoryCommand, says_what_is_wrong_with_it) {
  EXPECT_EQ(memory_command("/limit 0").error().code, "PARAM");
  EXPECT_EQ(memory_command("/limit much").error().code, "PARAM");
  EXPECT_EQ(memory_command("/limit now").error().code, "PARAM");
  EXPECT_EQ(memory_command("/preset none").error().code, "RECIPE");
}

TEST(MemoryCommand, what_would_happen_is_said_as_it_is_known) {
  runtime::MemoryChange change{
      .bytes_before = 96'000'000, .bytes_after = 32'000'000, .n_lane_tokens = 1000};
  EXPECT_THAT(describe(change), HasSubstr("too little memory to measure"));
  change.n_lowered = 900;
  EXPECT_THAT(describe(change), HasSubstr("90.0 % of the cache at lower precision"));
  EXPECT_THAT(describe(change), HasSubstr("is not measured"));
  change.cost = {.n_tokens = 64, .agreement = 0.984, .kl = 0.0022};
  EXPECT_THAT(describe(change), HasSubstr("98.4 % of the time, KL 0.0022"));
  change.fits = false;
  change.limit_least = 30'800'000;
  EXPECT_THAT(describe(change), HasSubstr("needs a limit of at least 30.8 MB"));
  EXPECT_THAT(describe({.bytes_before = 10, .bytes_after = 10}), HasSubstr("stays as it is"));
  const runtime::MemoryChange again{
      .bytes_before = 10, .bytes_after = 90, .n_reread = 1585, .reread_ms = 3000};
  EXPECT_THAT(describe(again), HasSubstr("1,585 tokens must be reread"));
  EXPECT_THAT(describe(again), testing::Not(HasSubstr("With this limit")));
}

TEST(MemoryCommand, reading_again_under_too_low_a_limit_says_so_and_names_one_that_would_do) {
  runtime::MemoryChange change{.bytes_before = 20'000'000,
                               .bytes_after = 20'000'000,
                               .n_reread = 1585,
                               .limit_all = 46'200'000,
                               .bytes_all = 31'000'000};
  EXPECT_THAT(describe(change), HasSubstr("lower precision again until it takes 20.0 MB at most, "
                                          "instead of 31.0 MB."));
  EXPECT_THAT(describe(change), HasSubstr("would restore almost nothing"));
  EXPECT_THAT(describe(change), HasSubstr("A limit of 46.2 MB avoids that."));
  change.bytes_after = 28'000'000;
  EXPECT_THAT(describe(change), testing::Not(HasSubstr("almost nothing")));
  change.bytes_after = change.bytes_all;  // it would fit, but not with what reading it takes
  EXPECT_THAT(describe(change),
              HasSubstr("may drop to lower precision again while it is reread. A limit"));
}

TEST(MemoryCommand, what_was_done_is_not_told_as_still_to_come) {
  const runtime::MemoryChange done{.bytes_before = 20'000'000,
                                   .bytes_after = 28'000'000,
                                   .n_reread = 1585,
                                   .limit_all = 46'200'000,
                                   .bytes_all = 31'000'000};
  EXPECT_EQ(describe_done(done), "28.0 MB instead of 20.0 MB; 1,585 tokens were reread.");
  runtime::MemoryChange other = done;
  other.reread = {{kvcache::RereadReason::other_recipe, 1585}};
  EXPECT_EQ(describe_done(other), describe_done(done) + " The cache was made with another recipe.");
}

TEST(MemoryCommand, a_preset_that_is_none_names_the_presets_first) {
  const std::string message = memory_command("/preset ballanced").error().message;
  EXPECT_THAT(message, HasSubstr("no preset \"ballanced\""));
  EXPECT_THAT(message, HasSubstr("Presets: full, balanced, compact, extreme."));
  EXPECT_LT(message.find("extreme"), message.find("minikv")) << message;
  EXPECT_THAT(message, HasSubstr("recipe"));
  EXPECT_THAT(message, HasSubstr("file"));
}

}  // namespace
}  // namespace satchel::app
