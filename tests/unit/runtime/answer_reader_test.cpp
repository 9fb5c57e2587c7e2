// What an answer says and what was thought before it, told apart token by token.
#include "runtime/tokenizer/answer_reader.h"

#include "tokenizer_cases.h"

namespace satchel::runtime {
namespace {

using namespace tokenizer_tests;

struct Heard {
  std::string thought, answer;
  std::size_t n_thought = 0, n_answer = 0;
  friend bool operator==(const Heard&, const Heard&) = default;
};

// Marks as files list them: as text of several tokens, as one user-defined piece, as one control
// token.
enum class Marks { bytes, user_defined, control };

std::unique_ptr<Tokenizer> tokenizer_with(Marks marks) {
  Vocabulary v = byte_vocabulary({"<|im_start|>", "<|im_end|>"});
  if (marks != Marks::bytes)
    for (const char* mark : {"<think>", "</think>"}) {
      v.pieces.push_back(mark);
      v.types.push_back(marks == Marks::control ? PieceType::control : PieceType::user_defined);
    }
  return make_tokenizer(v);
}

Heard heard(Marks marks, std::string_view said, bool opened = false) {
  const auto tokenizer = tokenizer_with(marks);
  const auto chatml = ChatTemplate::named("chatml");
  AnswerReader reader(*tokenizer, *chatml, opened);
  Heard all;
  const auto add = [&all](const AnswerReader::Said& part) {
    EXPECT_TRUE(is_utf8(part.thought) && is_utf8(part.answer));
    all.thought += part.thought;
    all.answer += part.answer;
  };
  for (const TokenId token : ids(*tokenizer, said, SpecialText::parse)) add(reader.push(token));
  add(reader.finish());
  all.n_thought = reader.n_thought_tokens();
  all.n_answer = reader.n_answer_tokens();
  return all;
}

class AnswerReaderMarks : public testing::TestWithParam<Marks> {};

TEST_P(AnswerReaderMarks, part_the_thoughts_from_the_answer) {
  const std::size_t n_mark = GetParam() == Marks::bytes ? 7 : 1;
  const std::size_t n_end = GetParam() == Marks::bytes ? 8 : 1;
  EXPECT_EQ(heard(GetParam(), "<think>\nHm ü.\n</think>\n\nYes.\n"),
            (Heard{"Hm ü.", "Yes.\n", n_mark + 1 + 6 + 1 + n_end + 2, 5}));
  EXPECT_EQ(heard(GetParam(), "Hm.\n</think>\n\nYes", true),
            (Heard{"Hm.", "Yes", 4 + n_end + 2, 3}));
  EXPECT_EQ(heard(GetParam(), "<think>\n\n</think>\n\nYes"),
            (Heard{"", "Yes", n_mark + n_end + 4, 3}));
}

TEST_P(AnswerReaderMarks, at_another_place_are_what_the_answer_says) {
  const Heard quoted = heard(GetParam(), "Write <think> first");
  const bool is_text = GetParam() != Marks::control;  // a control token says nothing
  EXPECT_EQ(quoted.answer, is_text ? "Write <think> first" : "Write  first");
  EXPECT_EQ(quoted.n_thought, 0u);
  const Heard twice = heard(GetParam(), "<think>a</think>b</think>c<think>d");
  EXPECT_EQ(twice.thought, "a");
  EXPECT_EQ(twice.answer, is_text ? "b</think>c<think>d" : "bcd");
}

TEST_P(AnswerReaderMarks, that_never_come_leave_everything_on_one_side) {
  EXPECT_EQ(heard(GetParam(), "  Yes <3"), (Heard{"", "  Yes <3", 0, 8}));
  EXPECT_EQ(heard(GetParam(), "Hm\n\nand so on ", true), (Heard{"Hm\n\nand so on", "", 14, 0}));
  EXPECT_EQ(heard(GetParam(), ""), Heard{});
  EXPECT_EQ(heard(GetParam(), "<thin"), (Heard{"", "<thin", 0, 5}));
}

INSTANTIATE_TEST_SUITE_P(Marks, AnswerReaderMarks,
                         testing::Values(Marks::bytes, Marks::user_defined, Marks::control),
                         [](const auto& param) {
                           return std::string(param.param == Marks::bytes     ? "bytes"
                                              : param.param == Marks::control ? "control"
                                                                              : "user_defined");
                         });

TEST(AnswerReader, holds_back_only_what_may_be_a_mark) {
  const auto tokenizer = tokenizer_with(Marks::bytes);
  const auto chatml = ChatTemplate::named("chatml");
  AnswerReader reader(*tokenizer, *chatml, true);
  std::string shown;
  for (const char c : std::string("a < b </thin c")) shown += reader.push(c).thought;
  EXPECT_EQ(shown, "a < b </thin c");
  EXPECT_EQ(reader.push('\n').thought, "");
  EXPECT_EQ(reader.push('d').thought, "\nd");
  EXPECT_TRUE(reader.is_thinking());
}

// What is heard of marks that are control tokens, or text and control tokens.
Heard heard_of(std::string_view format, const std::vector<std::string>& control,
               std::string_view said) {
  const auto tokenizer = make_tokenizer(byte_vocabulary(control));
  const auto chat_template = ChatTemplate::named(format);
  AnswerReader reader(*tokenizer, *chat_template, false);
  Heard all;
  const auto add = [&all](const AnswerReader::Said& part) {
    all.thought += part.thought;
    all.answer += part.answer;
  };
  for (const TokenId token : ids(*tokenizer, said, SpecialText::parse)) add(reader.push(token));
  add(reader.finish());
  return all;
}

TEST(Gemma4Reader, takes_the_channel_thought_for_thoughts_and_the_rest_for_the_answer) {
  const auto heard = [](std::string_view said) {
    return heard_of("gemma-4", {"<|turn>", "<turn|>", "<|channel>", "<channel|>"}, said);
  };
  const Heard both = heard("<|channel>thought\nHm, <3.\n<channel|>Yes.");
  EXPECT_EQ(both.thought, "Hm, <3.");
  EXPECT_EQ(both.answer, "Yes.");
  EXPECT_EQ(heard("<|channel>thought\n<channel|>Yes.").answer, "Yes.");
  EXPECT_EQ(heard("thought\nYes.").answer, "thought\nYes.");
  EXPECT_EQ(heard("<|channel>thought\nHm").thought, "Hm");
}

// gpt-oss: marks of several tokens, most of them control tokens.
class HarmonyReader : public testing::Test {
 protected:
  Heard heard(std::string_view said) {
    return heard_of("harmony",
                    {"<|start|>", "<|message|>", "<|channel|>", "<|end|>", "<|return|>", "<|call|>",
                     "<|constrain|>"},
                    said);
  }
};

TEST_F(HarmonyReader, takes_the_analysis_for_thoughts_and_what_is_final_for_the_answer) {
  const Heard both = heard(
      "<|channel|>analysis<|message|>Hm, <3.<|end|><|start|>assistant<|channel|>final<|message|>"
      "Yes.");
  EXPECT_EQ(both.thought, "Hm, <3.");
  EXPECT_EQ(both.answer, "Yes.");
  const Heard only = heard("<|channel|>final<|message|>Yes, <|x|>.");
  EXPECT_EQ(only.thought, "");
  EXPECT_EQ(only.answer, "Yes, <|x|>.");
}

TEST_F(HarmonyReader, joins_thoughts_of_several_messages_and_leaves_a_call_its_marks) {
  const Heard several = heard(
      "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>analysis<|message|>"
      "So.<|end|><|start|>assistant<|channel|>final<|message|>Yes.");
  EXPECT_EQ(several.thought, "Hm.\n\nSo.");
  EXPECT_EQ(several.answer, "Yes.");
  const std::string call = "<|channel|>commentary to=functions.f <|constrain|>json<|message|>{}";
  EXPECT_EQ(heard(call).answer, call);
  const Heard both = heard("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant" + call);
  EXPECT_EQ(both.thought, "Hm.");
  EXPECT_EQ(both.answer, call);
}

TEST_F(HarmonyReader, shows_what_has_no_mark_and_what_has_no_end) {
  EXPECT_EQ(heard("Yes.").answer, "Yes.");
  EXPECT_EQ(heard("<|channel|>analysis<|message|>Hm").thought, "Hm");
  EXPECT_EQ(heard("<|channel|>analysis<|message|>Hm").answer, "");
}

}  // namespace
}  // namespace satchel::runtime
