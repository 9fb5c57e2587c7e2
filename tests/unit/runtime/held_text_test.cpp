// How the words of a chat are held, and what an answer looked at, as every front end is told.
#include "runtime/chat/held_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/chat/chat_service.h"
#include "runtime/limits/presets.h"
#include "support/open_chat_service.h"
#include "support/value_of.h"
#include "tokenizer_cases.h"

namespace satchel::runtime {
namespace {

using kvcache::HeldToken;
using testing::SizeIs;

class HeldWordsTest : public testing::Test {
 protected:
  std::vector<TokenId> ids(std::string_view text) {
    return value_of(tokenizer->encode(text, SpecialText::as_text));
  }
  static void expect_cover(const std::vector<HeldWords>& words, std::size_t end) {
    std::size_t at = 0;
    for (const HeldWords& each : words) {
      EXPECT_EQ(each.words.begin, at);
      EXPECT_LT(each.words.begin, each.words.end);
      at = each.words.end;
    }
    EXPECT_EQ(at, end);
  }

  GgufFile file = value_of(GgufFile::open(test::kBundledModel));
  std::unique_ptr<Tokenizer> tokenizer = value_of(Tokenizer::open(file));
};

TEST_F(HeldWordsTest, tokens_that_are_held_alike_are_one_passage) {
  const std::string text = "The brass bell hangs in the old room of the tower.";
  const std::vector<TokenId> tokens = ids("user\n" + text + "\n");
  std::vector<HeldToken> held(tokens.size(), {1, 16});
  const auto words = held_words(text, tokens, held, *tokenizer);
  ASSERT_THAT(words, SizeIs(1));
  EXPECT_EQ(words[0].words.end, text.size());
  held[tokens.size() / 2] = {0.5f, 4};
  expect_cover(held_words(text, tokens, held, *tokenizer), text.size());
  EXPECT_THAT(held_words(text, tokens, held, *tokenizer), SizeIs(3));
}

TEST_F(HeldWordsTest, what_was_not_read_is_in_none) {
  const std::string text = "The brass bell hangs in the old room of the tower.";
  const std::vector<TokenId> tokens = ids(text);
  const std::vector<HeldToken> held(tokens.size() / 2, {1, 16});
  const auto words = held_words(text, tokens, held, *tokenizer);
  ASSERT_THAT(words, SizeIs(1));
  EXPECT_LT(words[0].words.end, text.size());
  EXPECT_TRUE(held_words(text, tokens, {}, *tokenizer).empty());
  EXPECT_TRUE(held_words("", tokens, held, *tokenizer).empty());
}

TEST_F(HeldWordsTest, words_of_the_template_before_the_text_are_not_taken_for_it) {
  const std::string text = "user";
  const std::vector<TokenId> tokens = ids("user\nuser");
  std::vector<HeldToken> held(tokens.size(), {0, 0});
  held.back() = {1, 8};
  for (const HeldWords& each : held_words(text, tokens, held, *tokenizer))
    EXPECT_LE(each.words.end, text.size());
  EXPECT_EQ(held_words(text, tokens, held, *tokenizer).back().held, (HeldToken{1, 8}));
}

TEST_F(HeldWordsTest, a_text_that_the_tokens_do_not_say_is_one_passage_in_their_mean) {
  const std::vector<TokenId> tokens = ids("another text");
  std::vector<HeldToken> held(tokens.size(), {1, 4});
  held.front() = {0, 0};
  const auto words = held_words("not said", tokens, held, *tokenizer);
  ASSERT_THAT(words, SizeIs(1));
  EXPECT_EQ(words[0].words.end, 8u);
  EXPECT_EQ(words[0].held.bits, 4);
  EXPECT_LT(words[0].held.share, 1);
  EXPECT_GT(words[0].held.share, 0);
}

class ChatHeldTest : public testing::TestWithParam<const char*> {};

// Of chats with and without a store, and a document that is read in parts.
TEST_P(ChatHeldTest, every_message_is_told_and_what_the_recipe_drops_is_seen) {
  for (const bool keeps : {true, false}) {
    const auto chats = std::make_shared<test::MemoryChats>();
    const auto service = test::open_chat_service(keeps ? chats : nullptr);
    const ChatHandle chat =
        value_of(service->begin({.memory = {value_of(resolve_recipe(GetParam())), 0}}));
    std::string document;
    while (document.size() < 3000) document += "The brass bell hangs in the old room. ";
    value_of(service->attach(chat, {.title = "tower.txt", .text = document}));
    std::vector<HeldText> told;
    const ChatCall listening = {.stop = {}, .sink = [&](ChatHandle, const ChatEvent& event) {
                                  if (const auto* text = std::get_if<HeldText>(&event))
                                    told.push_back(*text);
                                }};
    const HeldText text = value_of(service->held(chat, listening));
    ASSERT_THAT(told, SizeIs(1));
    const std::span<const SessionMessage> messages = service->session(chat)->messages();
    ASSERT_EQ(text.messages.size(), messages.size());
    for (std::size_t i = 0; i < messages.size(); ++i)
      EXPECT_EQ(text.messages[i].message, messages[i].id);
    const auto found = std::ranges::find_if(messages, [](const SessionMessage& message) {
      return message.kind == MessageKind::document;
    });
    ASSERT_NE(found, messages.end());
    const auto& words = text.messages[static_cast<std::size_t>(found - messages.begin())].words;
    ASSERT_FALSE(words.empty());
    EXPECT_EQ(words.back().words.end, document.size());
    const auto is_exact = [](const HeldWords& each) { return each.held == HeldToken{1, 16}; };
    EXPECT_EQ(std::ranges::all_of(words, is_exact), GetParam() == std::string_view("full"));
    const bool drops =
        std::ranges::any_of(words, [](const HeldWords& each) { return each.held.share < 1; });
    EXPECT_EQ(drops, GetParam() == std::string_view("snapkv"));
  }
}
INSTANTIATE_TEST_SUITE_P(Recipes, ChatHeldTest, testing::Values("full", "snapkv", "kivi-4"));

TEST(ChatHeld, a_document_in_parts_is_one_message) {
  const auto service = test::open_chat_service(std::make_shared<test::MemoryChats>());
  const ChatHandle chat = value_of(service->begin(
      {.memory = {value_of(resolve_recipe("full")), 0}, .beyond = BeyondContext::episodes}));
  std::string document;
  for (int i = 0; document.size() < 40'000; ++i)
    document += "Line " + std::to_string(i) + ": the brass bell hangs in the old room.\n";
  value_of(service->attach(chat, {.title = "tower.txt", .text = document}));
  ASSERT_GT(service->session(chat)->messages().size(), 3u) << "in parts";
  const HeldText text = value_of(service->held(chat));
  ASSERT_FALSE(text.messages.empty());
  const auto& words = text.messages.front().words;
  ASSERT_FALSE(words.empty());
  for (std::size_t i = 1; i < words.size(); ++i)
    EXPECT_GE(words[i].words.begin, words[i - 1].words.end);
  EXPECT_LE(words.back().words.end, document.size());
  EXPECT_GT(words.back().words.end, document.size() / 2);
}

double attention_on(const AttendedText& text, std::size_t message) {
  double sum = 0;
  for (const AttendedWords& each : text.messages.at(message).words) sum += each.share;
  return sum;
}

TEST(ChatAttended, what_the_newest_answer_looked_at_is_told_of_every_message) {
  for (const bool keeps : {true, false}) {
    const auto service =
        test::open_chat_service(keeps ? std::make_shared<test::MemoryChats>() : nullptr);
    const ChatHandle chat =
        value_of(service->begin({.memory = {value_of(resolve_recipe("kivi-4")), 0}}));
    value_of(service->attach(
        chat, {.title = "tower.txt", .text = "The brass bell hangs in the old room."}));
    EXPECT_EQ(value_of(service->attended(chat)).answer.value, 0) << "\"Noted.\" is no answer";
    const GenerateReport answer =
        value_of(service->send(chat, "Where does the bell hang?", Sampling{}));
    std::vector<AttendedText> told;
    const ChatCall listening = {.stop = {}, .sink = [&](ChatHandle, const ChatEvent& event) {
                                  if (const auto* text = std::get_if<AttendedText>(&event))
                                    told.push_back(*text);
                                }};
    const AttendedText text = value_of(service->attended(chat, listening));
    ASSERT_THAT(told, SizeIs(1));
    EXPECT_EQ(text.answer, answer.answer);
    EXPECT_GT(text.n_queries, 0u);
    EXPECT_EQ(text.n_tokens, service->session(chat)->n_read());
    ASSERT_THAT(text.messages, SizeIs(4));
    EXPECT_EQ(text.messages[3].message, answer.answer);
    double all = 0;
    for (std::size_t i = 0; i < text.messages.size(); ++i) {
      EXPECT_GT(attention_on(text, i), 0) << i;
      all += attention_on(text, i);
    }
    EXPECT_LE(all, 1 + 1e-4);
  }
}

TEST(ChatAttended, a_document_in_parts_is_one_message_and_a_chat_without_answer_has_nothing) {
  const auto service = test::open_chat_service(std::make_shared<test::MemoryChats>());
  const ChatHandle chat = value_of(service->begin(
      {.memory = {value_of(resolve_recipe("full")), 0}, .beyond = BeyondContext::episodes}));
  EXPECT_TRUE(value_of(service->attended(chat)).messages.empty());
  std::string document;
  for (int i = 0; document.size() < 40'000; ++i)
    document += "Line " + std::to_string(i) + ": the brass bell hangs in the old room.\n";
  value_of(service->attach(chat, {.title = "tower.txt", .text = document}));
  value_of(service->send(chat, "What is in line 3?", Sampling{}));
  const AttendedText text = value_of(service->attended(chat));
  ASSERT_FALSE(text.messages.empty());
  const auto& words = text.messages.front().words;
  ASSERT_FALSE(words.empty());
  for (std::size_t i = 1; i < words.size(); ++i)
    EXPECT_GE(words[i].words.begin, words[i - 1].words.end);
  EXPECT_LE(words.back().words.end, document.size());
  double all = 0;
  for (std::size_t i = 0; i < text.messages.size(); ++i) all += attention_on(text, i);
  EXPECT_GT(all, 0);
  EXPECT_LE(all, 1 + 1e-4);
}

TEST(ChatHeld, an_empty_chat_has_nothing) {
  const auto service = test::open_chat_service(nullptr);
  const ChatHandle chat =
      value_of(service->begin({.memory = {value_of(resolve_recipe("full")), 0}}));
  EXPECT_TRUE(value_of(service->held(chat)).messages.empty());
}

}  // namespace
}  // namespace satchel::runtime
