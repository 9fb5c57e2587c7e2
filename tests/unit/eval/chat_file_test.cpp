#include "app/eval/commands/chat_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "support/temp_folder.h"
#include "support/value_of.h"

namespace satchel::app {
namespace {

using eval::Chat;
using eval::Speaker;

constexpr char kLoCoMo[] = R"([{"sample_id": "conv-1",
  "conversation": {
    "speaker_a": "Ann", "speaker_b": "Ben",
    "session_1_date_time": "1 pm on 8 May, 2023",
    "session_1": [{"speaker": "Ann", "dia_id": "D1:1", "text": "I ran."},
                  {"speaker": "Ben", "dia_id": "D1:2", "text": "Look.", "blip_caption": "a dog"}],
    "session_2_date_time": "2 pm on 9 May, 2023",
    "session_3_date_time": "3 pm on 10 May, 2023",
    "session_3": [{"speaker": "Ben", "dia_id": "D3:1", "text": "Bye."}]},
  "qa": [{"question": "When did Ann run?", "answer": 2023, "evidence": ["D3:1", "D1:1"],
          "category": 2},
         {"question": "What did Ben show?", "answer": "a dog", "evidence": ["D9:9"], "category": 1},
         {"question": "Did Ann fly?", "adversarial_answer": "yes", "category": 5}]}])";

constexpr char kLongMemEval[] = R"([
 {"question_id": "q1", "question_type": "knowledge-update", "question": "Where do I live?",
  "answer": "Oslo", "question_date": "2023/06/01", "haystack_dates": ["2023/05/01", "2023/05/02"],
  "haystack_sessions": [
    [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}],
    [{"role": "user", "content": "I live in Oslo.", "has_answer": true},
     {"role": "assistant", "content": "", "has_answer": false}]]},
 {"question_id": "q2_abs", "question_type": "multi-session", "question": "My dog?",
  "answer": "You did not mention a dog.", "haystack_dates": ["2023/05/01"],
  "haystack_sessions": [[{"role": "user", "content": "Hi."}]]}])";

class ChatFile : public testing::Test {
 protected:
  Result<std::vector<Chat>> read(const std::string& text, std::size_t n = 0) {
    std::ofstream(path_) << text;
    return read_chat_file(path_, n);
  }
  // The file with `from` replaced, and what the refusal says.
  void expect_refused(std::string text, const std::string& from, const std::string& to,
                      const std::string& why) {
    const std::size_t at = text.find(from);
    ASSERT_NE(at, text.npos) << from;
    const auto refused = read(text.replace(at, from.size(), to));
    ASSERT_FALSE(refused.ok()) << why;
    EXPECT_EQ(refused.error().code, "DOC_FORMAT");
    EXPECT_EQ(refused.error().message,
              path_ + ": " + why + ". Use the file as its authors publish it.");
  }

  const test::TempFolder temp_;
  const std::string path_ = (temp_.path() / "chats.json").string();
};

TEST_F(ChatFile, locomo_is_two_people_by_name_with_dates_pictures_and_ages) {
  const std::vector<Chat> chats = value_of(read(kLoCoMo));
  ASSERT_EQ(chats.size(), 1u);
  const Chat& chat = chats[0];
  EXPECT_EQ(chat.set + " " + chat.name, "locomo conv-1");
  ASSERT_EQ(chat.messages.size(), 3u);
  EXPECT_EQ(chat.messages[0].text, "(1 pm on 8 May, 2023) Ann: I ran.");
  EXPECT_EQ(chat.messages[1].text, "Ben: Look. (shows a picture: a dog)");
  EXPECT_EQ(chat.messages[2].text, "(3 pm on 10 May, 2023) Ben: Bye.");
  EXPECT_EQ(chat.messages[0].speaker, Speaker::user);
  EXPECT_EQ(chat.messages[1].speaker, Speaker::assistant);
  ASSERT_EQ(chat.questions.size(), 3u);
  EXPECT_EQ(chat.questions[0].value, "2023");
  EXPECT_EQ(chat.questions[0].age, 3u) << "the oldest evidence";
  EXPECT_EQ(chat.questions[0].about, "2");
  EXPECT_EQ(age_group(chat.questions[1]), "told") << "evidence that is not there";
  EXPECT_EQ(age_group(chat.questions[2]), "absent");
}

TEST_F(ChatFile, longmemeval_is_one_question_each_after_its_sessions) {
  const std::vector<Chat> chats = value_of(read(kLongMemEval));
  ASSERT_EQ(chats.size(), 2u);
  EXPECT_EQ(chats[0].set + " " + chats[0].name, "knowledge-update q1");
  ASSERT_EQ(chats[0].messages.size(), 4u);
  EXPECT_EQ(chats[0].messages[0].text, "(2023/05/01) Hi.");
  EXPECT_EQ(chats[0].messages[1].text, "Hello.");
  EXPECT_EQ(chats[0].messages[2].text, "(2023/05/02) I live in Oslo.");
  ASSERT_EQ(chats[0].questions.size(), 1u);
  EXPECT_EQ(chats[0].questions[0].ask, "(2023/06/01) Where do I live?");
  EXPECT_EQ(chats[0].questions[0].value, "Oslo");
  EXPECT_EQ(chats[0].questions[0].age, 2u);
  EXPECT_EQ(age_group(chats[1].questions[0]), "absent");
  EXPECT_EQ(value_of(read(kLongMemEval, 1)).size(), 1u);
}

TEST_F(ChatFile, what_is_missing_is_said_with_its_place) {
  expect_refused(kLoCoMo, R"("speaker_a")", R"("x")", "chat 1 has no \"speaker_a\"");
  expect_refused(kLoCoMo, R"("session_3": [{"speaker")", R"("session_3": [{"x")",
                 "chat 1 session_3 message 1 has no \"speaker\"");
  expect_refused(kLoCoMo, R"("answer": "a dog")", R"("x": 1)",
                 "chat 1 question 2 has no \"answer\"");
  expect_refused(kLoCoMo, R"("category": 1)", R"("category": "1")",
                 "chat 1 question 2 has no \"category\"");
  expect_refused(kLongMemEval, R"("role": "assistant")", R"("role": "tool")",
                 "chat 1 session 1 message 2 has the \"role\" \"tool\", which is neither user nor "
                 "assistant");
  expect_refused(kLongMemEval, R"("2023/05/01", "2023/05/02")", R"("2023/05/01")",
                 "chat 1 session 2 has no date");
  expect_refused(kLongMemEval, R"("answer": "Oslo")", R"("answer": ["Oslo"])",
                 "chat 1 has a \"answer\" that is not text");
  expect_refused(kLongMemEval, R"([[{"role": "user", "content": "Hi."}]])", "[[]]",
                 "chat 2 has no messages");
}

TEST_F(ChatFile, a_file_that_is_neither_is_refused) {
  for (const char* text : {"", "{}", "[]", "[1]", R"([{"conversation": {}}])", R"([{"qa": [}])"}) {
    const auto refused = read(text);
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_EQ(refused.error().code, "DOC_FORMAT");
    EXPECT_NE(refused.error().message.find("is neither LoCoMo"), std::string::npos) << text;
  }
  EXPECT_EQ(read_chat_file((temp_.path() / "none").string(), 0).error().code, "DOC_NOT_FOUND");
}

}  // namespace
}  // namespace satchel::app
