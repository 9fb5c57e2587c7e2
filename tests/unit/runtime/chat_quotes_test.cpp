// What the answers of a chat repeat of its documents, as every front end is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/chat/chat_service.h"
#include "runtime/limits/presets.h"
#include "support/open_chat_service.h"
#include "support/value_of.h"

namespace satchel::runtime {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr std::string_view kRoom = "The brass bell hangs in the old room of the tower";

class ChatQuotesTest : public testing::Test {
 protected:
  ChatHandle begin(ChatService& service, std::string_view preset = "full") {
    return value_of(service.begin({.memory = {value_of(resolve_recipe(preset)), 0}}));
  }
  ChatCall listening() {
    return {.stop = {}, .sink = [this](ChatHandle, const ChatEvent& event) {
              if (const auto* found = std::get_if<QuotesFound>(&event)) told_.push_back(*found);
            }};
  }
  // The answer's id.
  static MessageId answer(ChatService& service, ChatHandle chat, std::string_view text) {
    const std::vector<MessageText> said = {{Role::user, "What hangs there?"},
                                           {Role::assistant, text}};
    return value_of(service.append(chat, said)).back();
  }

  std::shared_ptr<test::MemoryChats> chats_ = std::make_shared<test::MemoryChats>();
  std::vector<QuotesFound> told_;
};

TEST_F(ChatQuotesTest, an_answers_quote_names_document_place_and_page) {
  for (const bool keeps : {true, false}) {
    const auto service = test::open_chat_service(keeps ? chats_ : nullptr);
    const ChatHandle chat = begin(*service);
    const std::string text = "[Page 1]\nA tower.\n\n[Page 2]\nLook. " + std::string(kRoom) + ".\n";
    value_of(service->attach(chat, {.title = "tower.pdf", .text = text}));
    const MessageId first = answer(*service, chat, "I do not know what hangs in there.");
    const MessageId second = answer(*service, chat, "It is said: " + std::string(kRoom) + "!");
    const QuotesFound found = value_of(service->quotes(chat, second, listening()));
    ASSERT_THAT(found.quotes, SizeIs(1)) << keeps;
    const AnswerQuote& quote = found.quotes.front();
    EXPECT_EQ(quote.answer, second);
    EXPECT_EQ(quote.title, "tower.pdf");
    EXPECT_EQ(quote.document, service->session(chat)->messages().front().id);
    EXPECT_EQ(quote.page, 2);
    EXPECT_EQ(quote.text, kRoom);
    EXPECT_EQ(text.substr(quote.passage.begin, quote.passage.size()), kRoom);
    EXPECT_EQ(quote.said.begin, 12);
    ASSERT_FALSE(told_.empty());
    EXPECT_EQ(told_.back().answer, second);
    EXPECT_THAT(told_.back().quotes, SizeIs(1));
    EXPECT_THAT(value_of(service->quotes(chat, first)).quotes, IsEmpty());
    EXPECT_THAT(value_of(service->quotes(chat, {})).quotes, SizeIs(1)) << "of all answers";
  }
}

TEST_F(ChatQuotesTest, an_answer_quotes_only_what_came_before_it) {
  const auto service = test::open_chat_service(chats_);
  const ChatHandle chat = begin(*service);
  const MessageId before = answer(*service, chat, kRoom);
  value_of(service->attach(chat, {.title = "tower.txt", .text = kRoom}));
  const MessageId between = answer(*service, chat, kRoom);
  value_of(service->attach(chat, {.title = "again.txt", .text = kRoom}));
  answer(*service, chat, "It is quiet there.");
  const MessageId behind = answer(*service, chat, kRoom);
  const QuotesFound found = value_of(service->quotes(chat, {}));
  ASSERT_THAT(found.quotes, SizeIs(2));
  EXPECT_EQ(found.quotes[0].answer, between);
  EXPECT_EQ(found.quotes[1].answer, behind);
  for (const AnswerQuote& quote : found.quotes) EXPECT_EQ(quote.title, "tower.txt");
  EXPECT_THAT(value_of(service->quotes(chat, before)).quotes, IsEmpty());
}

TEST_F(ChatQuotesTest, a_chat_without_documents_or_answers_has_none) {
  const auto service = test::open_chat_service(chats_);
  const ChatHandle chat = begin(*service);
  EXPECT_THAT(value_of(service->quotes(chat, {}, listening())).quotes, IsEmpty());
  const MessageId said = answer(*service, chat, kRoom);
  EXPECT_THAT(value_of(service->quotes(chat, said)).quotes, IsEmpty());
  value_of(service->attach(chat, {.title = "noted.txt", .text = kNoted}));
  EXPECT_THAT(value_of(service->quotes(chat, {})).quotes, IsEmpty());
  EXPECT_THAT(value_of(service->quotes(chat, {999})).quotes, IsEmpty());
  ASSERT_EQ(told_.size(), 1) << "also where there are none";
  EXPECT_EQ(service->quotes({999}, {}).error().code, "NO_CHAT");
}

TEST_F(ChatQuotesTest, places_in_a_document_that_was_read_in_parts_are_those_of_the_whole) {
  const auto service = test::open_chat_service(chats_);
  const ChatHandle chat = begin(*service, "compact");
  std::string text;
  for (int i = 0; i < 300; ++i)
    text += "The brass bell hangs in room " + std::to_string(i) + " of the tower.\n";
  value_of(service->attach(chat, {.title = "bells.txt", .text = text}));
  ASSERT_GT(service->session(chat)->messages().size(), 2u);
  const std::string_view said = "The brass bell hangs in room 287 of the tower";
  const QuotesFound found = value_of(service->quotes(chat, answer(*service, chat, said)));
  ASSERT_THAT(found.quotes, SizeIs(1));
  EXPECT_EQ(found.quotes[0].title, "bells.txt");
  EXPECT_EQ(found.quotes[0].passage.begin, text.find(said));
  EXPECT_EQ(found.quotes[0].document, service->session(chat)->messages().front().id);
}

TEST_F(ChatQuotesTest, a_chat_that_is_opened_again_has_its_quotes) {
  ChatId id;
  {
    const auto service = test::open_chat_service(chats_);
    const ChatHandle chat = begin(*service);
    value_of(service->attach(chat, {.title = "tower.txt", .text = kRoom}));
    answer(*service, chat, kRoom);
    id = service->chat(chat)->id();
  }
  const auto service = test::open_chat_service(chats_);
  const ChatHandle chat = value_of(service->open(id)).chat;
  EXPECT_THAT(value_of(service->quotes(chat, {})).quotes, SizeIs(1));
}

}  // namespace
}  // namespace satchel::runtime
