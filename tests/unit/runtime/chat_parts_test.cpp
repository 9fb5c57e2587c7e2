// The small parts of the chat service: titles, how fast a model reads, what a change of memory
// leaves.
#include <gtest/gtest.h>

#include "runtime/chat/chat_title.h"
#include "runtime/chat/memory_settings.h"
#include "runtime/chat/read_speed.h"
#include "runtime/limits/presets.h"
#include "support/memory_chat_store.h"
#include "support/value_of.h"

namespace satchel::runtime {
namespace {

TEST(ChatTitle, is_the_first_line_with_single_blanks) {
  EXPECT_EQ(title_from("  hello \t there\nmore"), "hello there");
  EXPECT_EQ(title_from("\n\n one"), "one");
  EXPECT_EQ(title_from(" \n "), "");
}

TEST(ChatTitle, is_cut_at_a_word_and_never_inside_a_character) {
  const std::string words = "word word word word word word word word word word word word word";
  EXPECT_EQ(title_from(words), "word word word word word word word word word word word word…");
  std::string umlauts;
  for (int i = 0; i < 70; ++i) umlauts += "ä";
  EXPECT_EQ(title_from(umlauts), umlauts.substr(0, 120) + "…");
  EXPECT_EQ(title_from(umlauts.substr(0, 120)), umlauts.substr(0, 120));
}

TEST(ReadSpeed, is_kept_of_readings_that_say_enough) {
  test::MemoryChatStore store(std::make_shared<test::MemoryChats>());
  ReadSpeed speed(&store);
  EXPECT_EQ(speed.ms_per_token("model"), 0);
  ReadReport report;
  report.n_tokens = kSpeedTokensMin - 1;
  report.ms = 640;
  ASSERT_TRUE(speed.keep("model", report).ok());
  EXPECT_EQ(speed.ms_per_token("model"), 0);
  report.n_tokens = 64;
  ASSERT_TRUE(speed.keep("model", report).ok());
  EXPECT_DOUBLE_EQ(speed.ms_per_token("model"), 10);
  EXPECT_EQ(speed.ms_per_token("another"), 0);
}

TEST(MemorySettings, a_request_only_for_what_differs) {
  const MemorySettings now{value_of(resolve_recipe("full")), 40'000'000};
  MemorySettings wanted = now;
  MemoryRequest request = request_for(now, wanted);
  EXPECT_EQ(request.limit_bytes, 0u);
  EXPECT_FALSE(request.recipe.has_value());
  wanted = {value_of(resolve_recipe("compact")), 80'000'000};
  request = request_for(now, wanted);
  EXPECT_EQ(request.limit_bytes, 80'000'000u);
  EXPECT_EQ(request.recipe->hash(), wanted.recipe.hash());
  EXPECT_TRUE(with_request(now, request) == wanted);
}

TEST(MemorySettings, name_the_preset_that_a_recipe_is) {
  for (const Preset& preset : presets())
    EXPECT_EQ(preset_of(value_of(resolve_recipe(preset.name))), preset.name);
  EXPECT_EQ(preset_of(value_of(resolve_recipe("kvzip"))), "kvzip");
}

}  // namespace
}  // namespace satchel::runtime
