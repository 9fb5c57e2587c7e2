// Chats at the end of the model's context and beyond it, as every front end sees them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "runtime/chat/chat_service.h"
#include "runtime/chat/whole_documents.h"
#include "runtime/episodes/part_title.h"
#include "runtime/limits/presets.h"
#include "support/open_chat_service.h"
#include "support/value_of.h"

namespace satchel::runtime {
namespace {

std::string notes(int n) {
  std::string text;
  for (int i = 0; i < n; ++i)
    text += "The brass bell hangs in room " + std::to_string(i) + " of the tower.\n";
  return text;
}

// What does not fit into the bundled model's context of 2,048 tokens.
constexpr int kTooMany = 300;

class ChatBeyondTest : public testing::Test {
 protected:
  std::unique_ptr<ChatService> open_service() { return test::open_chat_service(chats_); }
  static ChatStart start(std::string_view preset) {
    return {.memory = {value_of(resolve_recipe(preset)), 0}};
  }
  ChatCall listening() {
    return {.stop = {},
            .sink = [this](ChatHandle, const ChatEvent& event) { events_.push_back(event); }};
  }
  template <class Event>
  std::vector<Event> told() const {
    std::vector<Event> found;
    for (const ChatEvent& event : events_)
      if (const auto* one = std::get_if<Event>(&event)) found.push_back(*one);
    return found;
  }
  Result<GenerateReport> ask(ChatService& service, ChatHandle chat, std::string_view text) {
    return service.send(chat, text, Sampling::plain_greedy(4), listening());
  }

  std::shared_ptr<test::MemoryChats> chats_ = std::make_shared<test::MemoryChats>();
  std::vector<ChatEvent> events_;
};

TEST_F(ChatBeyondTest, at_the_end_of_the_context_a_chat_says_that_it_could_go_on_and_then_does) {
  const auto service = open_service();
  const ChatHandle chat = value_of(service->begin(start("full")));
  value_of(service->attach(chat, {.title = "notes", .text = notes(100)}, listening()));
  EXPECT_TRUE(told<ContextEnded>().empty());
  EXPECT_FALSE(told<ChatMemory>().back().goes_on);
  EXPECT_EQ(ask(*service, chat, notes(60)).error().code, "CONTEXT_FULL");
  ASSERT_EQ(told<ContextEnded>().size(), 1u);
  value_of(service->go_on(chat, listening()));
  EXPECT_EQ(told<WentOn>().size(), 1u);
  EXPECT_TRUE(told<ChatMemory>().back().goes_on);
  value_of(ask(*service, chat, notes(60)));
  EXPECT_EQ(told<ContextEnded>().size(), 1u);
  EXPECT_GT(told<GenerateReport>().back().episodes.n_all, 0u);
}

TEST_F(ChatBeyondTest, a_chat_that_is_opened_to_go_on_does_so_every_time) {
  const auto service = open_service();
  const ChatHandle chat = value_of(service->begin(start("full")));
  value_of(ask(*service, chat, "Hello."));
  const ChatId id = value_of(service->chats()).front().id;
  service->close(chat);
  const auto open = [&](std::optional<BeyondContext> beyond) {
    const OpenReport opened = value_of(
        service->open(id, {.keeps_model = true, .choices = {.beyond = beyond}}, listening()));
    service->close(opened.chat);
    return told<ChatMemory>().back().goes_on;
  };
  EXPECT_FALSE(open({}));
  EXPECT_TRUE(open(BeyondContext::episodes));
  EXPECT_TRUE(open({}));
}

TEST_F(ChatBeyondTest, parts_are_listed_and_the_next_answer_sees_those_that_were_named) {
  const auto service = open_service();
  ChatStart roomy = start("full");
  roomy.memory.limit_bytes = 40'000'000;  // the default holds one context: not two parts with it
  const ChatHandle chat = value_of(service->begin(roomy));
  value_of(service->go_on(chat));
  const std::string text = notes(kTooMany);
  value_of(service->attach(chat, {.title = "bells.txt", .text = text}, listening()));
  value_of(ask(*service, chat, "Where is the brass bell of room 250?"));
  const std::vector<OlderPart> parts = value_of(service->older_parts(chat, listening())).parts;
  ASSERT_GT(parts.size(), 2u);
  EXPECT_EQ(told<OlderParts>().back().parts.size(), parts.size());
  EXPECT_EQ(parts[0].beginning.substr(0, 18), "bells.txt (part 1 ");
  EXPECT_GT(parts[0].n_tokens, 100u);
  const SeenEpisodes by_words = told<GenerateReport>().back().episodes;
  for (std::size_t i = 0; i < parts.size(); ++i)
    EXPECT_EQ(parts[i].is_seen, std::ranges::count(by_words.seen, i) > 0) << i;
  const std::vector<std::size_t> others = {0, 1};
  ASSERT_NE(by_words.seen, others);
  value_of(service->name_parts(chat, {1, 0, 1}));
  value_of(ask(*service, chat, "Where is the brass bell of room 250?"));
  EXPECT_EQ(told<GenerateReport>().back().episodes.seen, others);
  value_of(ask(*service, chat, "Where is the brass bell of room 250?"));
  EXPECT_NE(told<GenerateReport>().back().episodes.seen, others) << "once";
  EXPECT_EQ(service->name_parts(chat, {99}).error().code, "PARAM");
}

TEST_F(ChatBeyondTest, a_chat_that_was_too_long_to_be_resumed_is_resumed_when_it_goes_on) {
  ChatId id;
  {
    const auto service = open_service();
    const ChatHandle chat = value_of(service->begin(start("full")));
    value_of(service->go_on(chat));
    const std::string text = notes(kTooMany);
    value_of(service->attach(chat, {.title = "bells.txt", .text = text}));
    value_of(service->session(chat)->set_beyond(BeyondContext::ends));
    id = service->chat(chat)->id();
  }
  const auto service = open_service();
  const ChatHandle chat = value_of(service->open(id, {}, listening())).chat;
  EXPECT_TRUE(told<ResumeReport>().back().too_long);
  EXPECT_EQ(told<ContextEnded>().size(), 1u);
  EXPECT_FALSE(ask(*service, chat, "Where is the brass bell?").ok());
  value_of(service->go_on(chat, listening()));
  const ResumeReport resumed = told<ResumeReport>().back();
  EXPECT_FALSE(resumed.too_long);
  EXPECT_EQ(resumed.n_reused, resumed.n_chat_tokens) << "what was saved was not read again";
  value_of(ask(*service, chat, "Where is the brass bell of room 250?"));
}

TEST_F(ChatBeyondTest, a_first_message_that_is_too_long_alone_is_offered_nothing) {
  const auto service = open_service();
  const ChatHandle chat = value_of(service->begin(start("full")));
  EXPECT_EQ(ask(*service, chat, notes(kTooMany)).error().code, "CONTEXT_FULL");
  EXPECT_TRUE(told<ContextEnded>().empty());
}

TEST_F(ChatBeyondTest, a_document_that_does_not_fit_a_new_chat_is_read_in_parts_if_it_goes_on) {
  ChatId id;
  {
    const auto service = open_service();
    const ChatHandle chat = value_of(service->begin(start("full")));
    const std::string text = notes(kTooMany);
    const Document document{.title = "bells.txt", .text = text};
    EXPECT_EQ(service->attach(chat, document, listening()).error().code, "CONTEXT_FULL");
    ASSERT_EQ(told<ContextEnded>().size(), 1u);
    value_of(service->go_on(chat));
    value_of(service->attach(chat, document, listening()));
    ASSERT_EQ(told<DocumentParts>().size(), 1u);
    EXPECT_EQ(told<StoredMessage>().front().title, "bells.txt");
    EXPECT_EQ(told<StoredMessage>().front().id, told<DocumentParts>().front().document);
    id = service->chat(chat)->id();
  }
  const std::size_t n_parts = told<DocumentParts>().front().n_parts;
  EXPECT_GT(n_parts, 1u);
  events_.clear();
  const auto service = open_service();
  const OpenReport opened = value_of(service->open(id, {}, listening()));
  EXPECT_EQ(service->session(opened.chat)->beyond(), BeyondContext::episodes) << "kept with it";
  const std::vector<StoredMessage> messages = told<ChatOpened>().front().messages;
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0].title, "bells.txt");
  EXPECT_EQ(messages[0].text, notes(kTooMany));
  EXPECT_EQ(messages[1].text, kNoted);
  ASSERT_EQ(told<DocumentParts>().size(), 1u);
  EXPECT_EQ(told<DocumentParts>().front().n_parts, n_parts);
}

TEST(PartTitle, is_read_as_it_was_written_and_nothing_else_is) {
  const std::string title = part_title({"a (part 2 of 3)", 4, 12});
  const auto part = read_part_title(title);
  ASSERT_TRUE(part.has_value());
  EXPECT_EQ(part->document, "a (part 2 of 3)");
  EXPECT_EQ(part->number, 4u);
  EXPECT_EQ(part->of, 12u);
  EXPECT_EQ(part_title({"notes", 1, 1}), "notes");
  for (const char* other : {"notes", "a (part 0 of 3)", "a (part 4 of 3)", "a (part 1 of 1)",
                            "a (part 1 of 3) ", "a (part x of 3)", "a (part 1 of 3", ""})
    EXPECT_FALSE(read_part_title(other).has_value()) << other;
}

std::vector<StoredMessage> document_in_parts(std::size_t n) {
  std::vector<StoredMessage> out;
  for (std::size_t i = 1; i <= n; ++i) {
    StoredMessage part, answer;
    part.id = {static_cast<std::int64_t>(2 * i)};
    part.role = Role::user;
    part.kind = MessageKind::document;
    part.title = part_title({"book", i, n});
    part.text = std::to_string(i);
    answer.id = {static_cast<std::int64_t>(2 * i + 1)};
    answer.role = Role::assistant;
    answer.text = kNoted;
    out.push_back(part);
    out.push_back(answer);
  }
  return out;
}

TEST(WholeDocuments, parts_become_one_only_where_all_of_them_follow_each_other) {
  const WholeDocuments all = with_whole_documents(document_in_parts(3));
  ASSERT_EQ(all.messages.size(), 2u);
  EXPECT_EQ(all.messages[0].text, "123");
  EXPECT_EQ(all.messages[0].id.value, 2);
  EXPECT_EQ(all.messages[1].id.value, 7);
  ASSERT_EQ(all.parts.size(), 1u);
  EXPECT_EQ(all.parts[0].n_parts, 3u);
  auto unanswered = document_in_parts(3);
  unanswered.pop_back();
  EXPECT_EQ(with_whole_documents(unanswered).messages.size(), 1u);
  auto cut = document_in_parts(3);
  cut.resize(4);
  EXPECT_EQ(with_whole_documents(cut).messages.size(), 4u);
  auto gap = document_in_parts(3);
  gap.erase(gap.begin() + 2, gap.begin() + 4);
  EXPECT_EQ(with_whole_documents(gap).messages.size(), 4u);
  auto text = document_in_parts(3);
  text[2].kind = MessageKind::text;
  EXPECT_EQ(with_whole_documents(text).messages.size(), 6u);
  EXPECT_TRUE(with_whole_documents({}).messages.empty());
}

}  // namespace
}  // namespace satchel::runtime
