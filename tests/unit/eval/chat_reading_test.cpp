// Chats whose answers are written, read by the bundled model and asked about.
#include "app/eval/measure/chat_reading.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "app/eval/chat_world/chat_world.h"
#include "runtime/limits/presets.h"
#include "unit/runtime/session_fixture.h"

namespace satchel::eval {
namespace {

using namespace runtime;  // what tests share

ChatAnswers answers(const Chat& chat, const char* recipe, const ChatAsking& asking = {}) {
  return value_of(ask_chat(shared_engine(), value_of(resolve_recipe(recipe)), chat, asking, {}));
}
std::vector<std::string> said(const ChatAnswers& all) {
  std::vector<std::string> out;
  for (const ChatAnswer& each : all.answers) out.push_back(each.spoken.text);
  return out;
}

// Documents are the messages whose answer a session writes itself.
TEST(ChatReading, a_written_chat_is_read_as_one_that_was_held) {
  const auto live =
      value_of(shared_engine().new_session(SessionOptions(value_of(resolve_recipe("full")))));
  Chat chat;
  for (const char* text : {"Notes:\nAda Dahl lives in Oslo.", "Also: Otto Grau keeps a goat."}) {
    value_of(live->add_document("", text));
    chat.messages.push_back({Speaker::user, text});
    chat.messages.push_back({Speaker::assistant, std::string(kNoted)});
  }
  chat.questions.push_back({.ask = "Where does Ada Dahl live?", .value = "Oslo", .old_values = {}});
  const ChatAnswers given = answers(chat, "full");
  EXPECT_EQ(given.stats.n_tokens, live->tokens().size());
  const Spoken spoken = value_of(say(*live, chat.questions[0].ask, kChatAnswerTokensMax, {}));
  EXPECT_EQ(given.answers[0].spoken.text, spoken.text);
  EXPECT_EQ(given.answers[0].spoken.context_tokens, spoken.context_tokens);
}

TEST(ChatReading, no_question_knows_of_another) {
  Chat chat = make_chat({.n_messages = 30, .n_questions = 2});
  for (const char* recipe : {"full", "extreme"}) {
    std::vector<std::string> forth = said(answers(chat, recipe));
    ASSERT_EQ(forth.size(), chat.questions.size());
    std::ranges::reverse(chat.questions);
    const std::vector<std::string> back = said(answers(chat, recipe));
    std::ranges::reverse(forth);
    EXPECT_EQ(back, forth);
  }
}

TEST(ChatReading, the_bundled_model_knows_what_it_was_told) {
  const Chat chat = make_chat({.n_messages = 30});
  const ChatAnswers given = answers(chat, "full");
  std::size_t n_told = 0, n_right = 0;
  for (std::size_t i = 0; i < chat.questions.size(); ++i) {
    if (chat.questions[i].value.empty()) continue;
    ++n_told;
    n_right += judge(chat.questions[i], given.answers[i].spoken.text).right ? 1u : 0u;
  }
  EXPECT_GE(n_told, 6u);
  EXPECT_GE(4 * n_right, 3 * n_told);
}

// With as many tokens as half of it takes.
TEST(ChatReading, rolling_reads_the_newest_turns_as_if_they_were_all) {
  Chat chat = make_chat({.n_messages = 30, .n_questions = 1});
  const std::size_t n_all = answers(chat, "full").stats.n_tokens, n_context = n_all / 2 + 100;
  const ChatAnswers rolled = answers(chat, "full", {.n_context = n_context});
  EXPECT_GT(rolled.n_dropped, 0u);
  EXPECT_LT(rolled.n_dropped, chat.messages.size());
  EXPECT_EQ(rolled.n_dropped % 2, 0u) << "begins with the user";
  for (const ChatAnswer& each : rolled.answers) {
    EXPECT_FALSE(each.spoken.cut);
    EXPECT_LE(each.spoken.context_tokens + kChatAnswerTokensMax, n_context);
  }
  chat.messages.erase(chat.messages.begin(),
                      chat.messages.begin() + std::ptrdiff_t(rolled.n_dropped));
  const ChatAnswers alone = answers(chat, "full");
  EXPECT_EQ(alone.stats.n_tokens, rolled.stats.n_tokens);
  EXPECT_EQ(said(alone), said(rolled));
}

TEST(ChatReading, rolling_asks_an_empty_chat_where_no_turn_fits) {
  const Chat chat = make_chat({.n_messages = 30, .n_questions = 1});
  const ChatAnswers rolled = answers(chat, "full", {.n_context = 100});
  EXPECT_EQ(rolled.n_dropped, chat.messages.size());
  EXPECT_EQ(rolled.stats.n_tokens, 0u);
  EXPECT_FALSE(rolled.answers[0].spoken.text.empty());
}

TEST(ChatReading, a_chat_that_stops_answers_nothing_and_one_that_fits_everything) {
  const Chat chat = make_chat({.n_messages = 30, .n_questions = 1});
  const ChatAnswers over = answers(chat, "full", {.beyond = Beyond::stops, .n_context = 300});
  ASSERT_EQ(over.answers.size(), chat.questions.size());
  EXPECT_EQ(over.stats.n_tokens, 0u);
  for (const ChatAnswer& each : over.answers)
    EXPECT_TRUE(each.spoken.cut && each.spoken.text.empty());
  EXPECT_EQ(said(answers(chat, "full", {.beyond = Beyond::stops})), said(answers(chat, "full")));
}

TEST(ChatReading, stop_ends_it) {
  std::stop_source stop;
  stop.request_stop();
  const auto stopped = ask_chat(shared_engine(), value_of(resolve_recipe("full")),
                                make_chat({.n_messages = 10}), {}, stop.get_token());
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().code, "STOPPED");
}

}  // namespace
}  // namespace satchel::eval
