// How a chat is answered: settings that stay with it, stop texts, saved prompts. Where lists have
// it: folders, the top.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/chat/chat_service.h"
#include "runtime/limits/presets.h"
#include "support/open_chat_service.h"
#include "support/value_of.h"

namespace satchel::runtime {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr const char* kNotes =
    "Matteo Thorsen keeps a rabbit. Estelle Ibarra keeps a parrot. Quentin works as a baker.";
constexpr const char* kPet = "Which pet does Matteo Thorsen keep?";

Sampling creative() {
  return {.temperature = 0.75,
          .top_k = 12,
          .top_p = 0.5,
          .min_p = 0.25,
          .repetition_penalty = 1.5,
          .n_tokens_max = 0,
          .stops = {"\n\n", "User:", "\xc3\xbc"}};
}

TEST(AnswerSettings, come_back_from_their_note) {
  const Sampling back = value_of(sampling_from_note(to_note(creative())));
  EXPECT_TRUE(is_same(back, creative()));
  EXPECT_EQ(back.stops, creative().stops);
  EXPECT_EQ(back.temperature, 0.75);
  EXPECT_EQ(back.n_tokens_max, 0u);
  EXPECT_FALSE(is_same(back, {}));
  EXPECT_TRUE(is_same(value_of(sampling_from_note("{}")), {}))
      << "what is not there is the default";
}

TEST(AnswerSettings, a_note_that_is_none_or_out_of_range_is_refused) {
  for (const char* note : {"", "[]", "7", "{\"temperature\": \"hot\"}", "{\"temperature\": 9}",
                           "{\"top_k\": -1}", "{\"top_k\": 1.5}", "{\"stops\": \"x\"}",
                           "{\"stops\": [1]}", "{\"stops\": [\"\"]}", "{\"top_p\": 0}"})
    EXPECT_EQ(sampling_from_note(note).error().code, "PARAM") << note;
}

class ChatAnswersTest : public testing::Test {
 protected:
  std::unique_ptr<ChatService> open_service() { return test::open_chat_service(chats_); }
  static ChatHandle begin(ChatService& service) {
    return value_of(service.begin({.memory = {value_of(resolve_recipe("full")), 0}}));
  }
  static Sampling until(std::string stop) {
    Sampling sampling = Sampling::plain_greedy(24);
    sampling.stops = {std::move(stop)};
    return sampling;
  }

  std::shared_ptr<test::MemoryChats> chats_ = std::make_shared<test::MemoryChats>();
};

TEST_F(ChatAnswersTest, an_answer_ends_before_a_stop_text_and_is_whole) {
  const auto service = open_service();
  const ChatHandle freely = begin(*service), stopped = begin(*service);
  for (const ChatHandle chat : {freely, stopped})
    value_of(service->send(chat, kNotes, Sampling::plain_greedy(1)));
  const std::string said = value_of(service->send(freely, kPet, Sampling::plain_greedy(24))).text;
  ASSERT_THAT(said, HasSubstr("rabbit"));
  std::string streamed;
  const ChatSink sink = [&](ChatHandle, const ChatEvent& event) {
    if (const auto* delta = std::get_if<AnswerDelta>(&event)) streamed += delta->text;
  };
  const GenerateReport report = value_of(service->send(stopped, kPet, until("rabbit"), {{}, sink}));
  EXPECT_EQ(report.text, said.substr(0, said.find("rabbit")));
  EXPECT_EQ(streamed, report.text) << "what may become the stop text is held back";
  EXPECT_EQ(report.finish, Finish::end_of_turn);
  const auto stored = value_of(chats_->library.messages(service->chat(stopped)->id()));
  EXPECT_EQ(stored.back().text, report.text);
  EXPECT_EQ(stored.back().state, MessageState::complete);
  // The turn is closed, as after any other answer.
  EXPECT_THAT(value_of(service->send(stopped, "Which pet does Estelle Ibarra keep?",
                                     Sampling::plain_greedy(24)))
                  .text,
              HasSubstr("parrot"));
}

TEST_F(ChatAnswersTest, a_stop_text_that_never_comes_changes_nothing) {
  const auto service = open_service();
  const ChatHandle freely = begin(*service), stopped = begin(*service);
  const auto ask = [&](ChatHandle chat, const Sampling& sampling) {
    value_of(service->send(chat, kNotes, Sampling::plain_greedy(1)));
    return value_of(service->send(chat, kPet, sampling)).text;
  };
  // Its beginning comes with every blank, and is held back for a while.
  EXPECT_EQ(ask(stopped, until(" zzz")), ask(freely, Sampling::plain_greedy(24)));
}

TEST_F(ChatAnswersTest, an_empty_stop_text_is_refused) {
  const auto service = open_service();
  EXPECT_EQ(service->send(begin(*service), kPet, until("")).error().code, "PARAM");
}

TEST_F(ChatAnswersTest, settings_are_kept_with_the_chat) {
  ChatId id;
  {
    const auto service = open_service();
    const ChatHandle chat = begin(*service);
    EXPECT_TRUE(service->set_answers(chat, {"Answer in one word.", creative()}).ok());
    value_of(service->send(chat, kPet, Sampling::plain_greedy(2)));
    id = service->chat(chat)->id();
    Sampling later = creative();
    later.stops = {"later"};
    ASSERT_TRUE(service->set_answers(chat, {"Answer in one word.", later}).ok());
  }
  const auto service = open_service();
  AnswerSettings told;
  const ChatSink sink = [&](ChatHandle, const ChatEvent& event) {
    if (const auto* opened = std::get_if<ChatOpened>(&event)) told = opened->answers;
  };
  const ChatHandle chat = value_of(service->open(id, {}, {{}, sink})).chat;
  EXPECT_EQ(told.system, "Answer in one word.");
  EXPECT_EQ(told.sampling.stops, std::vector<std::string>{"later"});
  EXPECT_EQ(told.sampling.temperature, 0.75);
  EXPECT_TRUE(is_same(service->chat(chat)->answers().sampling, told.sampling));
  EXPECT_EQ(value_of(chats_->library.messages(id)).front().text, "Answer in one word.");
  const ChatHandle branch = value_of(service->branch(chat));
  EXPECT_EQ(service->chat(branch)->answers().sampling.temperature, 0.75);
  EXPECT_TRUE(value_of(chats_->library.note(service->chat(branch)->id(), kAnswersNote)));
}

TEST_F(ChatAnswersTest, a_chat_with_messages_keeps_its_system_prompt) {
  const auto service = open_service();
  const ChatHandle chat = begin(*service);
  value_of(service->send(chat, kPet, Sampling::plain_greedy(2)));
  const AnswerSettings before = service->chat(chat)->answers();
  const auto refused = service->set_answers(chat, {"Be brief.", creative()});
  EXPECT_EQ(refused.error().code, "PARAM");
  EXPECT_THAT(refused.error().message, HasSubstr("new chat"));
  EXPECT_TRUE(is_same(service->chat(chat)->answers().sampling, before.sampling));
  EXPECT_TRUE(service->set_answers(chat, {before.system, creative()}).ok());
  Sampling wrong;
  wrong.temperature = 7;
  EXPECT_EQ(service->set_answers(chat, {before.system, wrong}).error().code, "PARAM");
  EXPECT_EQ(service->chat(chat)->answers().sampling.temperature, 0.75);
}

TEST_F(ChatAnswersTest, a_damaged_note_is_none) {
  const auto service = open_service();
  const ChatHandle chat = begin(*service);
  value_of(service->send(chat, kPet, Sampling::plain_greedy(2)));
  const ChatId id = service->chat(chat)->id();
  value_of(chats_->library.set_note(id, kAnswersNote, "{\"temperature\": 99}"));
  service->close(chat);
  const ChatHandle again = value_of(service->open(id)).chat;
  EXPECT_TRUE(is_same(service->chat(again)->answers().sampling, {}));
}

TEST_F(ChatAnswersTest, prompts_are_kept_by_name_and_outlive_the_program) {
  {
    const auto service = open_service();
    EXPECT_TRUE(value_of(service->prompts()).empty());
    EXPECT_TRUE(service->keep_prompt({"translate", "Into English:"}).ok());
    EXPECT_TRUE(service->keep_prompt({"brief", "Be brief. \"\\\n\xc3\xbc"}).ok());
    EXPECT_TRUE(service->keep_prompt({"translate", "Into Norwegian:"}).ok());
    EXPECT_EQ(service->keep_prompt({"", "text"}).error().code, "PARAM");
  }
  const auto service = open_service();
  std::vector<SavedPrompt> told;
  const ChatSink sink = [&](ChatHandle, const ChatEvent& event) {
    if (const auto* listed = std::get_if<PromptsListed>(&event)) told = listed->prompts;
  };
  const std::vector<SavedPrompt> both = {{"brief", "Be brief. \"\\\n\xc3\xbc"},
                                         {"translate", "Into Norwegian:"}};
  EXPECT_EQ(value_of(service->prompts({{}, sink})), both);
  EXPECT_EQ(told, both);
  EXPECT_TRUE(service->remove_prompt("brief", {{}, sink}).ok());
  EXPECT_EQ(told.size(), 1u);
  EXPECT_EQ(service->remove_prompt("brief").error().code, "PROMPT_NOT_FOUND");
  value_of(chats_->library.set_setting("prompts", "no list"));
  EXPECT_EQ(service->keep_prompt({"a", "b"}).error().code, "PROMPTS");
  EXPECT_EQ(value_of(chats_->library.setting("prompts")), "no list") << "and nothing is lost";
}

TEST_F(ChatAnswersTest, a_chat_is_put_into_a_folder_and_out_of_it) {
  const auto service = open_service();
  const ChatHandle chat = begin(*service);
  value_of(service->send(chat, kPet, Sampling::plain_greedy(2)));
  const ChatId id = service->chat(chat)->id();
  EXPECT_EQ(value_of(service->set_folder(id, "Field work")).folder, "Field work");
  EXPECT_EQ(value_of(service->chats()).front().folder, "Field work");
  EXPECT_EQ(value_of(service->set_folder(id, "")).folder, "");
  EXPECT_EQ(service->set_folder({77}, "none").error().code, "CHAT_NOT_FOUND");
}

TEST_F(ChatAnswersTest, a_chat_is_kept_at_the_top_of_lists_and_not_any_more) {
  const auto service = open_service();
  const ChatHandle chat = begin(*service);
  value_of(service->send(chat, kPet, Sampling::plain_greedy(2)));
  const ChatId id = service->chat(chat)->id();
  EXPECT_EQ(value_of(service->chats()).front().place, ListPlace::by_use);
  std::vector<ListPlace> told;
  const ChatSink sink = [&](ChatHandle, const ChatEvent& event) {
    if (const auto* changed = std::get_if<ChatChanged>(&event)) told.push_back(changed->chat.place);
  };
  EXPECT_EQ(value_of(service->set_place(id, ListPlace::top, {{}, sink})).place, ListPlace::top);
  EXPECT_EQ(value_of(service->chats()).front().place, ListPlace::top);
  EXPECT_EQ(value_of(service->set_place(id, ListPlace::by_use, {{}, sink})).place,
            ListPlace::by_use);
  EXPECT_EQ(told, (std::vector{ListPlace::top, ListPlace::by_use}));
  EXPECT_EQ(service->set_place({77}, ListPlace::top).error().code, "CHAT_NOT_FOUND");
  value_of(service->remove(id));
  EXPECT_EQ(service->set_place(id, ListPlace::top, {{}, sink}).error().code, "CHAT_NOT_FOUND");
  EXPECT_EQ(told.size(), 2u) << "a list would have it again";
  EXPECT_EQ(value_of(service->restore(id)).place, ListPlace::by_use);
}

TEST_F(ChatAnswersTest, a_chat_knows_which_answer_people_stopped) {
  const auto service = open_service();
  const ChatHandle chat = begin(*service);
  std::stop_source stop;
  const ChatSink stops = [&](ChatHandle, const ChatEvent& event) {
    if (std::holds_alternative<AnswerDelta>(event)) stop.request_stop();
  };
  const GenerateReport cut =
      value_of(service->send(chat, kPet, Sampling::plain_greedy(50), {stop.get_token(), stops}));
  ASSERT_EQ(cut.finish, Finish::stopped);
  const ChatId id = service->chat(chat)->id();
  EXPECT_EQ(value_of(service->chats()).front().stopped, MessageId{});
  EXPECT_EQ(value_of(service->set_stopped(id, cut.answer)).stopped, cut.answer);
  EXPECT_EQ(value_of(service->chats()).front().stopped, cut.answer);
  EXPECT_EQ(service->set_stopped({77}, cut.answer).error().code, "CHAT_NOT_FOUND");
}

}  // namespace
}  // namespace satchel::runtime
