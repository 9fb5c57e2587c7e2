// Settings of the command line over those that are saved with a chat, and how both are shown.
#include "app/cli/sampling_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "app/cli/conversation.h"
#include "app/cli/settings_text.h"
#include "support/bundled_model.h"
#include "support/temp_folder.h"
#include "support/value_of.h"

namespace satchel::app {
namespace {

using runtime::Sampling;
using testing::HasSubstr;
using testing::Not;

const Sampling kSaved{.temperature = 0.75,
                      .top_k = 12,
                      .top_p = 0.5,
                      .min_p = 0.25,
                      .repetition_penalty = 1.5,
                      .n_tokens_max = 200,
                      .stops = {"\n\n", "User:"}};

SamplingOptions parsed(std::vector<std::string> arguments) {
  CLI::App command;
  SamplingOptions options;
  add_sampling_options(command, options);
  std::reverse(arguments.begin(), arguments.end());  // as CLI11 takes them
  command.parse(std::move(arguments));
  return options;
}

TEST(SamplingOptions, nothing_given_is_as_the_chat_has_it) {
  EXPECT_TRUE(is_same(parsed({}).over(kSaved), kSaved));
  EXPECT_TRUE(is_same(parsed({}).over({}), {}));
}

TEST(SamplingOptions, each_that_is_given_wins_and_the_others_are_the_chats) {
  Sampling now = parsed({"--temperature", "0", "-n", "0"}).over(kSaved);
  EXPECT_EQ(now.temperature, 0) << "also where it is the default";
  EXPECT_EQ(now.n_tokens_max, 0u);
  now.temperature = kSaved.temperature;
  now.n_tokens_max = kSaved.n_tokens_max;
  EXPECT_TRUE(is_same(now, kSaved));
  const Sampling all = parsed({"--top-k", "3", "--top-p", "0.9", "--min-p", "0.1",
                               "--repetition-penalty", "1.2", "--seed", "7", "--allow-loops"})
                           .over(kSaved);
  EXPECT_EQ(all.top_k, 3u);
  EXPECT_EQ(all.top_p, 0.9);
  EXPECT_EQ(all.min_p, 0.1);
  EXPECT_EQ(all.repetition_penalty, 1.2);
  EXPECT_EQ(all.seed, 7u);
  EXPECT_FALSE(all.ends_loops);
  EXPECT_EQ(all.stops, kSaved.stops);
}

TEST(SettingsText, says_what_is_in_force_and_whose_it_is) {
  const std::string text =
      describe({"Answer in \"one\" word.\n", kSaved}, parsed({"--temperature", "0.2"}));
  EXPECT_THAT(text, HasSubstr("temperature         0.2 (from the command line)"));
  EXPECT_THAT(text, HasSubstr("top-k               12 (saved with this chat)"));
  EXPECT_THAT(text, HasSubstr("stop texts          \"\\n\\n\", \"User:\" (saved with this chat)"));
  EXPECT_THAT(text, HasSubstr("\"Answer in \\\"one\\\" word.\\n\" (saved with this chat)"));
  const std::string usual = describe(runtime::AnswerSettings{}, SamplingOptions{});
  EXPECT_THAT(usual, HasSubstr("system prompt       none set"));
  EXPECT_THAT(usual, HasSubstr("max tokens          1,024"));
  EXPECT_THAT(usual, Not(HasSubstr("("))) << usual;
}

TEST(SettingsText, a_resumed_chat_says_what_of_it_is_not_as_in_a_new_one) {
  const Sampling warm{.temperature = 0.75, .stops = {"User:"}};
  EXPECT_EQ(describe_saved({"Be brief.", warm}, {}),
            "Answers as saved with this chat: temperature 0.75, stop texts \"User:\". /settings "
            "lists all settings.");
  EXPECT_THAT(describe_saved({{}, warm}, parsed({"--temperature", "1"})),
              Not(HasSubstr("temperature")));
  EXPECT_EQ(describe_saved({"Be brief.", {}}, parsed({"--temperature", "1"})), "");
}

// As the window sets them, in a chat that the terminal opens later.
TEST(ConversationSettings, are_those_that_are_saved_with_the_chat) {
  const test::TempFolder folder;
  Console console(false, true);
  Options options;
  options.model = test::kBundledModel;
  options.budget = "40MB";
  options.store = folder.path().string();
  options.threads = 2;
  const auto open = [&] {
    return value_of(Conversation::open(options, {.name = "a", .system = {}}, console));
  };
  {
    const auto conversation = open();
    EXPECT_TRUE(is_same(conversation->answers().sampling, {}));
    ASSERT_TRUE(conversation->service().set_answers(conversation->chat(), {{}, kSaved}).ok());
    value_of(
        conversation->service().send(conversation->chat(), "Hello.", Sampling::plain_greedy(2)));
  }
  const auto again = open();
  EXPECT_TRUE(is_same(again->answers().sampling, kSaved));
  ASSERT_TRUE(again->start_over().ok());
  EXPECT_TRUE(is_same(again->answers().sampling, kSaved)) << "/new goes on with them";
}

}  // namespace
}  // namespace satchel::app
