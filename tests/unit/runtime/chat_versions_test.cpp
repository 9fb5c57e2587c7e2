// Editing, answering again and going back, as front ends ask the chat service for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "runtime/chat/chat_service.h"
#include "runtime/limits/presets.h"
#include "support/open_chat_service.h"
#include "support/value_of.h"

namespace satchel::runtime {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kNotes =
    "Matteo Thorsen keeps a rabbit. We had tea. Estelle Ibarra keeps a parrot. Quentin works as a "
    "baker.";
constexpr const char* kPet = "Which pet does Matteo Thorsen keep?";
constexpr const char* kOther = "Which pet does Estelle Ibarra keep?";

class ChatVersionsTest : public testing::Test {
 protected:
  static Sampling greedy(std::size_t n = 16) { return Sampling::plain_greedy(n); }
  ChatHandle chat_with_question() {
    const ChatHandle chat =
        value_of(service_->begin({.memory = {value_of(resolve_recipe("compact")), 0}}));
    value_of(service_->send(chat, kNotes, greedy()));
    value_of(service_->send(chat, kPet, greedy()));
    return chat;
  }
  std::vector<MessageId> ids(ChatHandle chat) {
    std::vector<MessageId> found;
    for (const StoredMessage& message :
         value_of(chats_->library.messages(service_->chat(chat)->id())))
      found.push_back(message.id);
    return found;
  }
  ChatCall listening(std::stop_token stop = {}) {
    events_.clear();
    return {std::move(stop),
            [this](ChatHandle, const ChatEvent& event) { events_.push_back(event); }};
  }
  template <class Event>
  const Event* last() const {
    const auto found = std::find_if(events_.rbegin(), events_.rend(), [](const ChatEvent& event) {
      return std::holds_alternative<Event>(event);
    });
    return found == events_.rend() ? nullptr : &std::get<Event>(*found);
  }

  std::shared_ptr<test::MemoryChats> chats_ = std::make_shared<test::MemoryChats>();
  std::unique_ptr<ChatService> service_ = test::open_chat_service(chats_);
  std::vector<ChatEvent> events_;
};

TEST_F(ChatVersionsTest, a_message_is_corrected_and_what_follows_is_told_anew) {
  const ChatHandle chat = chat_with_question();
  const std::vector<MessageId> before = ids(chat);
  const CorrectReport report =
      value_of(service_->correct(chat, before[0], "Matteo Thorsen keeps a tortoise.", listening()));
  const std::vector<MessageId> after = ids(chat);
  ASSERT_EQ(after.size(), before.size());
  EXPECT_EQ(report.message, after[0]);
  ASSERT_NE(last<MessagesReplaced>(), nullptr);
  EXPECT_EQ(last<MessagesReplaced>()->messages.size(), after.size());
  ASSERT_NE(last<CorrectReport>(), nullptr);
  ASSERT_NE(last<ChatMemory>(), nullptr);
  EXPECT_EQ(last<ChatMemory>()->n_placed, report.n_placed);
  EXPECT_EQ(value_of(service_->versions(chat)).size(), 1u);
  EXPECT_EQ(value_of(service_->read_exactly(chat, listening())).read.n_tokens, 0u) << "too short";
  ASSERT_NE(last<ExactReport>(), nullptr);
  ASSERT_TRUE(service_->switch_to(chat, before[0], listening()).ok());
  EXPECT_EQ(ids(chat), before);
  EXPECT_EQ(service_->correct(chat, {4711}, "lost").error().code, "MESSAGE_NOT_FOUND");

  const ChatHandle unsaved =
      value_of(service_->begin({.memory = {value_of(resolve_recipe("compact")), 0}}));
  EXPECT_FALSE(service_->correct(unsaved, {1}, "lost").ok());
}

TEST_F(ChatVersionsTest, an_edit_is_answered_and_what_it_replaced_comes_back) {
  const ChatHandle chat = chat_with_question();
  const std::vector<MessageId> before = ids(chat);
  const MessageId question = before[2];
  const GenerateReport answer =
      value_of(service_->send_instead(chat, question, kOther, greedy(), listening()));
  EXPECT_THAT(answer.text, HasSubstr("parrot"));
  EXPECT_LT(answer.read.n_tokens, 30u) << "the notes are held already";
  const std::vector<MessageId> after = ids(chat);
  EXPECT_EQ(after.size(), before.size());
  EXPECT_EQ(after[1], before[1]);
  ASSERT_NE(last<MessagesReplaced>(), nullptr);
  EXPECT_EQ(last<MessagesReplaced>()->last, before[1]);
  EXPECT_TRUE(last<MessagesReplaced>()->messages.empty());
  ASSERT_NE(last<VersionsChanged>(), nullptr);
  ASSERT_EQ(last<VersionsChanged>()->messages.size(), 1u);
  EXPECT_THAT(last<VersionsChanged>()->messages[0].versions, ElementsAre(question, after[2]));

  ASSERT_TRUE(service_->switch_to(chat, question, listening()).ok());
  EXPECT_EQ(ids(chat), before);
  const MessagesReplaced* told = last<MessagesReplaced>();
  ASSERT_NE(told, nullptr);
  EXPECT_EQ(told->last, before[1]);
  ASSERT_EQ(told->messages.size(), 2u);
  EXPECT_EQ(told->messages[0].text, kPet);
  EXPECT_THAT(told->messages[1].text, HasSubstr("rabbit"));
  EXPECT_EQ(service_->session(chat)->n_read(), service_->session(chat)->tokens().size());
  EXPECT_EQ(value_of(service_->versions(chat)).size(), 1u);
  EXPECT_THAT(value_of(service_->send(chat, kOther, greedy())).text, HasSubstr("parrot"));
}

TEST_F(ChatVersionsTest, an_answer_is_given_again_and_both_are_kept) {
  const ChatHandle chat = chat_with_question();
  const std::vector<MessageId> before = ids(chat);
  const GenerateReport again =
      value_of(service_->answer_again(chat, before[3], greedy(2), listening()));
  EXPECT_EQ(again.n_tokens, 2u);
  EXPECT_EQ(again.read.n_tokens, 0u);
  const std::vector<MessageId> after = ids(chat);
  ASSERT_EQ(after.size(), 4u);
  EXPECT_EQ(after[2], before[2]);
  EXPECT_NE(after[3], before[3]);
  EXPECT_THAT(last<VersionsChanged>()->messages[0].versions, ElementsAre(before[3], after[3]));
  ASSERT_TRUE(service_->switch_to(chat, before[3]).ok());
  EXPECT_EQ(ids(chat), before);
}

TEST_F(ChatVersionsTest, an_answer_given_again_is_another_one_each_time) {
  const ChatHandle chat = chat_with_question();
  // What the model is not sure of: small talk.
  ASSERT_TRUE(service_->truncate(chat, ids(chat)[1]).ok());
  std::set<std::string> said = {
      value_of(chats_->library.messages(service_->chat(chat)->id())).back().text};
  for (int i = 0; i < 4; ++i)
    said.insert(value_of(service_->answer_again(chat, ids(chat).back(), greedy(32))).text);
  EXPECT_GE(said.size(), 3u) << "greedy they were all the same";
}

TEST_F(ChatVersionsTest, versions_are_told_when_the_chat_is_opened_again) {
  const ChatHandle chat = chat_with_question();
  const std::vector<MessageId> before = ids(chat);
  value_of(service_->answer_again(chat, before[3], greedy(2)));
  const ChatId id = service_->chat(chat)->id();
  service_->close(chat);
  const ChatHandle opened = value_of(service_->open(id, {}, listening())).chat;
  ASSERT_NE(last<VersionsChanged>(), nullptr);
  EXPECT_EQ(last<VersionsChanged>()->messages.size(), 1u);
  ASSERT_TRUE(service_->switch_to(opened, before[3]).ok());
  EXPECT_EQ(service_->session(opened)->n_read(), service_->session(opened)->tokens().size());
}

TEST_F(ChatVersionsTest, an_edit_that_is_refused_leaves_the_chat_as_it_was) {
  const ChatHandle chat = chat_with_question();
  const std::vector<MessageId> before = ids(chat);
  std::string most;
  for (int i = 0; i < 140; ++i) most += kNotes;
  EXPECT_EQ(service_->send_instead(chat, before[2], most, greedy(), listening()).error().code,
            "CONTEXT_FULL");
  EXPECT_EQ(ids(chat), before);
  ASSERT_EQ(last<MessagesReplaced>()->messages.size(), 2u) << "the window has them back";
  EXPECT_EQ(service_->session(chat)->n_read(), service_->session(chat)->tokens().size());
}

TEST_F(ChatVersionsTest, a_refused_edit_of_a_chat_that_was_cut_does_not_bring_the_rest_back) {
  const ChatHandle chat = chat_with_question();
  const std::vector<MessageId> before = ids(chat);
  ASSERT_TRUE(service_->truncate(chat, before[1]).ok());
  std::string most;
  for (int i = 0; i < 140; ++i) most += kNotes;
  EXPECT_EQ(service_->send_instead(chat, before[0], most, greedy()).error().code, "CONTEXT_FULL");
  EXPECT_THAT(ids(chat), ElementsAre(before[0], before[1]));
  ASSERT_TRUE(service_->truncate(chat, before[3]).ok()) << "any that it ever had";
  EXPECT_EQ(ids(chat), before);
  EXPECT_EQ(service_->session(chat)->n_read(), service_->session(chat)->tokens().size());
}

TEST_F(ChatVersionsTest, a_branch_of_the_beginning_has_nothing_of_the_rest) {
  const ChatHandle chat = chat_with_question();
  const std::vector<MessageId> before = ids(chat);
  const ChatHandle branch = value_of(service_->branch(chat, {}, before[1]));
  EXPECT_EQ(ids(branch).size(), 2u);
  const std::vector<MessageLink> all = value_of(chats_->library.tree(service_->chat(branch)->id()));
  EXPECT_EQ(all.size(), 2u) << "what is not in common is another conversation's";
  EXPECT_EQ(service_->session(branch)->n_read(), service_->session(branch)->tokens().size());
  EXPECT_THAT(value_of(service_->send(branch, kOther, greedy())).text, HasSubstr("parrot"));
  EXPECT_TRUE(value_of(service_->versions(branch)).empty());
  EXPECT_EQ(service_->branch(chat, {}, MessageId{999}).error().code, "MESSAGE_NOT_FOUND");
}

TEST_F(ChatVersionsTest, an_answer_that_is_stopped_before_it_begins_leaves_the_old_one) {
  const ChatHandle chat = chat_with_question();
  const std::vector<MessageId> before = ids(chat);
  std::stop_source stop;
  ChatCall call = listening(stop.get_token());
  call.sink = [&, tell = call.sink](ChatHandle handle, const ChatEvent& event) {
    tell(handle, event);
    if (std::holds_alternative<MessagesReplaced>(event)) stop.request_stop();
  };
  const Result<GenerateReport> report = service_->answer_again(chat, before[3], greedy(), call);
  EXPECT_TRUE(!report.ok() || report->answer.value == 0);
  EXPECT_EQ(ids(chat), before);
  EXPECT_EQ(service_->session(chat)->messages().back().id, before[3]);
}

TEST_F(ChatVersionsTest, a_kill_before_something_else_is_said_leaves_the_stored_chat_whole) {
  const ChatHandle chat = chat_with_question();
  const std::vector<MessageId> before = ids(chat);
  const ChatId id = service_->chat(chat)->id();
  std::size_t n_cuts = 0;
  ChatCall call;
  call.sink = [&](ChatHandle, const ChatEvent& event) {
    if (!std::holds_alternative<MessagesReplaced>(event)) return;
    ++n_cuts;
    EXPECT_EQ(value_of(chats_->library.messages(id)).size(), before.size());
  };
  value_of(service_->answer_again(chat, before[3], greedy(2), call));
  EXPECT_EQ(ids(chat).size(), before.size());
  value_of(service_->send_instead(chat, before[2], kOther, greedy(2), call));
  EXPECT_EQ(n_cuts, 2u);
  EXPECT_EQ(value_of(chats_->library.tree(id)).size(), before.size() + 3);
}

TEST_F(ChatVersionsTest, documents_their_answers_and_strangers_are_refused) {
  const ChatHandle chat =
      value_of(service_->begin({.memory = {value_of(resolve_recipe("full")), 0}}));
  EXPECT_EQ(service_->answer_again(chat, {1}, greedy()).error().code, "PARAM") << "no messages";
  value_of(service_->attach(chat, {.title = "notes", .text = kNotes}));
  value_of(service_->send(chat, kPet, greedy()));
  const std::vector<MessageId> before = ids(chat);
  ASSERT_EQ(before.size(), 4u);
  EXPECT_EQ(service_->send_instead(chat, before[0], kPet, greedy()).error().code, "PARAM");
  EXPECT_EQ(service_->answer_again(chat, before[1], greedy()).error().code, "PARAM");
  EXPECT_EQ(service_->answer_again(chat, before[2], greedy()).error().code, "PARAM");
  EXPECT_EQ(service_->send_instead(chat, before[3], kPet, greedy()).error().code, "PARAM");
  EXPECT_EQ(service_->send_instead(chat, {999}, kPet, greedy()).error().code, "MESSAGE_NOT_FOUND");
  EXPECT_EQ(service_->switch_to(chat, {999}).error().code, "MESSAGE_NOT_FOUND");
  EXPECT_EQ(ids(chat), before);
}

TEST_F(ChatVersionsTest, a_chat_that_is_not_saved_has_one_version) {
  service_ = test::open_chat_service(nullptr);
  const ChatHandle chat = chat_with_question();
  const MessageId question = service_->session(chat)->messages()[2].id;
  EXPECT_EQ(service_->send_instead(chat, question, kOther, greedy()).error().code, "PARAM");
  EXPECT_EQ(service_->session(chat)->messages().size(), 4u);
  EXPECT_TRUE(value_of(service_->versions(chat)).empty());
}

}  // namespace
}  // namespace satchel::runtime
