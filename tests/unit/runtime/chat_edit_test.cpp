// What is changed in a chat by itself: messages from elsewhere, cuts, branches, pins.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <thread>
#include <vector>

#include "runtime/chat/chat_service.h"
#include "runtime/limits/presets.h"
#include "support/open_chat_service.h"
#include "support/value_of.h"

namespace satchel::runtime {
namespace {

using testing::HasSubstr;

constexpr const char* kNotes =
    "Matteo Thorsen keeps a rabbit. We had tea. Estelle Ibarra keeps a parrot. Quentin works as a "
    "baker.";
constexpr const char* kPet = "Which pet does Matteo Thorsen keep?";
constexpr const char* kOther = "Which pet does Estelle Ibarra keep?";

class ChatEditTest : public testing::Test {
 protected:
  std::unique_ptr<ChatService> open_service(bool keeps = true) {
    return test::open_chat_service(keeps ? chats_ : nullptr);
  }
  static ChatHandle begin(ChatService& service, std::string_view preset = "full") {
    return value_of(service.begin({.memory = {value_of(resolve_recipe(preset)), 0}}));
  }
  static Sampling greedy() { return Sampling::plain_greedy(16); }
  static std::vector<std::int32_t> tokens(const ChatService& service, ChatHandle chat) {
    const auto all = service.session(chat)->tokens();
    return {all.begin(), all.end()};
  }
  std::size_t n_stored(const ChatService& service, ChatHandle chat) {
    return value_of(chats_->library.messages(service.chat(chat)->id())).size();
  }

  std::shared_ptr<test::MemoryChats> chats_ = std::make_shared<test::MemoryChats>();
};

TEST_F(ChatEditTest, a_conversation_had_elsewhere_is_the_same_tokens_and_answers_the_same) {
  const auto service = open_service();
  const ChatHandle here = begin(*service), copy = begin(*service);
  const std::string first = value_of(service->send(here, kNotes, greedy())).text;
  const std::string second = value_of(service->send(here, kPet, greedy())).text;
  const std::array<MessageText, 3> before = {
      {{Role::user, kNotes}, {Role::assistant, first}, {Role::user, kPet}}};
  EXPECT_EQ(value_of(service->append(copy, before)).size(), 3u);
  EXPECT_EQ(n_stored(*service, copy), n_stored(*service, here) - 1);
  EXPECT_EQ(value_of(service->answer(copy, greedy())).text, second);
  EXPECT_THAT(second, HasSubstr("rabbit"));
  EXPECT_EQ(tokens(*service, copy), tokens(*service, here));
}

TEST_F(ChatEditTest, an_answer_first_or_a_second_one_is_refused_and_nothing_is_stored) {
  const auto service = open_service();
  const ChatHandle chat = begin(*service);
  const std::array<MessageText, 2> wrong = {{{Role::assistant, "Hello."}, {Role::user, kPet}}};
  EXPECT_EQ(service->append(chat, wrong).error().code, "PARAM");
  EXPECT_EQ(service->answer(chat, greedy()).error().code, "PARAM");
  EXPECT_TRUE(value_of(chats_->library.chats(ChatFilter::present)).empty());
  value_of(service->send(chat, kNotes, greedy()));
  const std::array<MessageText, 2> late = {{{Role::user, kPet}, {Role::system, "Be short."}}};
  EXPECT_EQ(service->append(chat, late).error().code, "PARAM");
  EXPECT_EQ(service->answer(chat, greedy()).error().code, "PARAM");
  EXPECT_EQ(service->session(chat)->messages().size(), 2u);
  EXPECT_EQ(n_stored(*service, chat), 2u);
}

TEST_F(ChatEditTest, messages_that_do_not_fit_together_are_not_stored_one_by_one) {
  const auto service = open_service();
  const ChatHandle chat = begin(*service);
  std::string most;
  for (int i = 0; i < 70; ++i) most += kNotes;
  const std::array<MessageText, 3> long_ones = {
      {{Role::user, most}, {Role::assistant, "Noted."}, {Role::user, most}}};
  EXPECT_EQ(service->append(chat, long_ones).error().code, "CONTEXT_FULL");
  EXPECT_TRUE(value_of(chats_->library.chats(ChatFilter::present)).empty());
}

TEST_F(ChatEditTest, what_was_read_before_is_not_read_with_the_answer) {
  const auto service = open_service();
  const ChatHandle chat = begin(*service);
  const std::array<MessageText, 1> question = {{{Role::user, std::string_view(kNotes)}}};
  const MessageId id = value_of(service->append(chat, question)).front();
  EXPECT_EQ(service->forget(chat, id).error().code, "PARAM") << "it would be read all the same";
  EXPECT_GT(value_of(service->read(chat)).n_tokens, 20u);
  EXPECT_EQ(value_of(service->answer(chat, greedy())).read.n_tokens, 0u);
}

TEST_F(ChatEditTest, cut_to_a_question_it_is_answered_anew_without_reading_what_came_before) {
  const auto service = open_service();
  const ChatHandle chat = begin(*service, "compact");
  value_of(service->attach(chat, {.title = "notes", .text = kNotes}));
  const GenerateReport answer = value_of(service->send(chat, kOther, greedy()));
  const auto messages = service->session(chat)->messages();
  const MessageId question = messages[messages.size() - 2].id;
  ASSERT_TRUE(service->truncate(chat, question).ok());
  const GenerateReport again = value_of(service->answer(chat, greedy()));
  EXPECT_EQ(again.text, answer.text);
  EXPECT_THAT(again.text, HasSubstr("parrot"));
  EXPECT_EQ(again.read.n_tokens, 0u);
  EXPECT_EQ(service->truncate(chat, {999}).error().code, "MESSAGE_NOT_FOUND");
}

// Long enough that a step of the branches reads shared pages once for all of them.
TEST_F(ChatEditTest, branches_of_a_long_text_answer_together_as_each_does_alone) {
  std::string text = kNotes;
  for (int i = 0; i < 120; ++i) text += " The bell hangs in room " + std::to_string(i) + ".";
  const std::vector<std::string> questions = {kPet, kOther, "What hangs in room 7?"};
  for (const std::string_view recipe : {"full", "balanced"}) {
    const auto service = open_service(false);
    const ChatHandle chat =
        value_of(service->begin({.memory = {value_of(resolve_recipe(recipe)), 64'000'000}}));
    value_of(service->send(chat, text, greedy()));
    std::vector<std::string> alone, together(questions.size());
    std::vector<ChatHandle> branches;
    for (const std::string& question : questions) {
      const GenerateReport answer =
          value_of(service->send(value_of(service->branch(chat)), question, greedy()));
      EXPECT_LT(answer.read.n_tokens, 40u) << "the text is held already";
      alone.push_back(answer.text);
      branches.push_back(value_of(service->branch(chat)));
    }
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < questions.size(); ++i)
        threads.emplace_back([&, i] {
          together[i] = value_of(service->send(branches[i], questions[i], greedy())).text;
        });
    }
    EXPECT_EQ(together, alone) << recipe;
  }
}

class ChatBranchTest : public ChatEditTest, public testing::WithParamInterface<bool> {};

TEST_P(ChatBranchTest, a_branch_goes_on_by_itself_from_what_both_hold) {
  const auto service = open_service(GetParam());
  const ChatHandle chat = begin(*service);
  EXPECT_EQ(service->branch(chat).error().code, "PARAM") << "nothing to go on from";
  value_of(service->send(chat, kNotes, greedy()));
  const ChatHandle branch = value_of(service->branch(chat));
  EXPECT_EQ(tokens(*service, branch), tokens(*service, chat));
  const GenerateReport pet = value_of(service->send(branch, kPet, greedy()));
  EXPECT_LT(pet.read.n_tokens, 30u) << "the notes are held already";
  EXPECT_THAT(pet.text, HasSubstr("rabbit"));
  EXPECT_THAT(value_of(service->send(chat, kOther, greedy())).text, HasSubstr("parrot"));
  service->close(chat);
  EXPECT_THAT(value_of(service->send(branch, kOther, greedy())).text, HasSubstr("parrot"));
  if (!GetParam()) return;
  const ChatId id = service->chat(branch)->id();
  service->close(branch);
  const OpenReport opened = value_of(service->open(id));
  EXPECT_EQ(value_of(opened.resumed)->n_reread, 0u);
  EXPECT_EQ(service->session(opened.chat)->messages().size(), 6u);
}

INSTANTIATE_TEST_SUITE_P(Kept, ChatBranchTest, testing::Bool());

TEST_F(ChatEditTest, pinned_and_forgotten_messages_are_so_after_a_resume) {
  const auto service = open_service();
  const ChatHandle chat = begin(*service, "compact");
  value_of(service->send(chat, kNotes, greedy()));
  value_of(service->send(chat, kPet, greedy()));
  const auto messages = service->session(chat)->messages();
  ASSERT_TRUE(service->pin(chat, messages[0].id).ok());
  ASSERT_TRUE(service->forget(chat, messages[2].id).ok());
  EXPECT_EQ(service->pin(chat, {999}).error().code, "MESSAGE_NOT_FOUND");
  EXPECT_EQ(service->unpin(chat, {999}).error().code, "MESSAGE_NOT_FOUND");
  const kvcache::CacheStats before = service->session(chat)->stats();
  const ChatId id = service->chat(chat)->id();
  service->close(chat);
  const OpenReport opened = value_of(service->open(id));
  EXPECT_EQ(value_of(opened.resumed)->n_reread, 0u);
  EXPECT_EQ(service->session(opened.chat)->stats().body_bytes, before.body_bytes);
  EXPECT_THAT(value_of(service->send(opened.chat, kPet, greedy())).text, HasSubstr("rabbit"));
}

TEST_F(ChatEditTest, marks_are_told_when_they_change_and_when_the_chat_opens) {
  std::vector<MarksChanged> told;
  const ChatCall call{{}, [&](ChatHandle, const ChatEvent& event) {
                        if (const auto* marks = std::get_if<MarksChanged>(&event))
                          told.push_back(*marks);
                      }};
  const auto service = open_service();
  const ChatHandle chat = begin(*service, "compact");
  value_of(service->send(chat, kNotes, greedy()));
  value_of(service->send(chat, kPet, greedy()));
  const ChatId id = service->chat(chat)->id();
  std::vector<MessageId> ids;
  for (const SessionMessage& message : service->session(chat)->messages())
    ids.push_back(message.id);
  ASSERT_TRUE(service->pin(chat, ids[0], call).ok());
  ASSERT_TRUE(service->pin(chat, ids[1], call).ok());
  ASSERT_TRUE(service->unpin(chat, ids[0], call).ok());
  ASSERT_TRUE(service->forget(chat, ids[2], call).ok());
  ASSERT_TRUE(service->unpin(chat, ids[2], call).ok()) << "it was not pinned";
  ASSERT_EQ(told.size(), 5u);
  EXPECT_EQ(told[1].pinned, (std::vector{ids[0], ids[1]}));
  EXPECT_EQ(told[2].pinned, std::vector{ids[1]});
  EXPECT_EQ(told[4].pinned, std::vector{ids[1]});
  EXPECT_EQ(told[4].forgotten, std::vector{ids[2]}) << "that is for good";
  service->close(chat);
  told.clear();
  value_of(service->open(id, {}, call));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].pinned, std::vector{ids[1]});
  EXPECT_EQ(told[0].forgotten, std::vector{ids[2]});
}

}  // namespace
}  // namespace satchel::runtime
