// Grammars as text, and the texts they are: a table of both, what is wrong with others, and limits.
#include "runtime/grammar/grammar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/grammar/code_points.h"
#include "runtime/grammar/gbnf.h"
#include "runtime/grammar/token_constraint.h"
#include "runtime/tokenizer/utf8.h"
#include "support/value_of.h"
#include "unit/runtime/grammar_texts.h"

namespace satchel::runtime {
namespace {

using test::Fit;
using test::fit;
using testing::HasSubstr;
using Texts = std::vector<std::string>;

struct Case {
  std::string grammar;
  Texts whole, refused;
};

TEST(Gbnf, takes_its_texts_and_no_others) {
  const std::vector<Case> cases = {
      {R"(root ::= "yes" | "no")", {"yes", "no"}, {"Yes", "yess", "maybe", " yes"}},
      {R"(root ::= "a" "b"* "c"+ "d"?)", {"ac", "abbbcc", "accd"}, {"abd", "acdd", "b"}},
      {R"(root ::= [a-c] [^a-c\n] .)",
       {"axy", "b\xc3\xa9\n", "c\xf0\x9f\x98\x80z"},
       {"d", "aa", "a\n"}},
      {R"(root ::= "x"{2} "y"{1,3} "z"{2,})", {"xxyzz", "xxyyyzzzz"}, {"xyz", "xxyyyy", "xxx"}},
      {R"(root ::= "x"{0,2} "y"{,2})", {"", "x", "xxyy", "y"}, {"xxx", "yyy"}},
      {"root ::= (\"a\" |\n  \"b\" # one of two\n)+\n", {"a", "abba"}, {"c", "a\n"}},
      {"# a list\nroot ::= item (\", \" item)*\nitem ::= [0-9]+\n",
       {"1", "1, 22, 3"},
       {",", "1,2", "x"}},
      {"root ::=\n  pair\npair ::= \"(\" (pair | \"x\")? \")\"",
       {"()", "(x)", "(((x)))"},
       {")", "((x)x", "(()())"}},
      {R"(root ::= "\x41\u00e9\U0001F600\t\"\\")",
       {"A\xc3\xa9\xf0\x9f\x98\x80\t\"\\"},
       {"A\xc3\xa8"}},
      {R"(root ::= [\]\[\-a]+)", {"[]", "-a-"}, {"b", "\\"}},
      {R"(root ::= [a-] "-"?)", {"a", "--"}, {"b"}},
      {"root ::= \"\" | ws\nws ::= | \" \" ws", {"", "   "}, {"x"}},
      {R"(root ::= ((("a"*)*)?)+ "b")", {"b", "aab"}, {"c"}},
      {R"(root ::= ("ab" | "a" "bc" | "abc")*)", {"ababc", "abcab"}, {"ac", "b"}},
      {"root ::= \"if \" expr (\" else \" expr)? \nexpr ::= term ((\"+\"|\"-\") term)*\nterm ::= "
       "[0-9]+ "
       "| \"(\" expr \")\"",
       {"if 1+2", "if (1-(2+3))+4 else 5"},
       {"if )", "if 1+*"}},
      {R"(root ::= [à-ÿ]+ "…")",
       {"\xc3\xa9\xc3\xa8\xe2\x80\xa6"},
       {"e", "\xc3\x9f\xe2\x80\xa7", "\xc4\x80"}},
      {"root ::= a_b under-score\na_b ::= \"1\"\nunder-score ::= \"2\"", {"12"}, {"2"}},
      {"root ::= \"a\"\r\n# end\r\n", {"a"}, {"b"}},
  };
  for (const Case& one : cases) {
    const Grammar grammar = value_of(parse_gbnf(one.grammar));
    for (const std::string& text : one.whole)
      EXPECT_EQ(fit(grammar, text), Fit::whole) << one.grammar << "\n" << text;
    for (const std::string& text : one.refused)
      EXPECT_EQ(fit(grammar, text), Fit::refused) << one.grammar << "\n" << text;
  }
}

TEST(Gbnf, a_text_that_may_go_on_has_begun) {
  const Grammar grammar = value_of(parse_gbnf(R"(root ::= "yes" "!"*)"));
  EXPECT_EQ(fit(grammar, "ye"), Fit::begun);
  EXPECT_EQ(fit(grammar, ""), Fit::begun);
  EXPECT_EQ(fit(grammar, "yes"), Fit::whole);
}

// Every code point, one at a time: the class has exactly its own.
TEST(Gbnf, a_class_has_its_characters_and_no_others) {
  const CodePoints set =
      CodePoints().with('b', 'y').with(0x7f0, 0x802).with(0xd7f0, 0xe010).with(0xfff0, 0x10007);
  StepList steps;
  const StepList::At begin = set.spell(steps, steps.end());
  const Grammar grammar(steps.take(), begin);
  GrammarMatcher matcher(grammar);
  for (char32_t code = 0; code <= CodePoints::kLast; ++code) {
    if (code >= 0xd800 && code < 0xe000) continue;
    std::string text;
    append_code(code, text);
    GrammarMatcher::State state = matcher.start();
    for (const char byte : text) state = matcher.after(state, static_cast<std::uint8_t>(byte));
    ASSERT_EQ(matcher.may_end(state), set.has(code)) << static_cast<std::uint32_t>(code);
  }
  for (const char* broken : {"\xed\xa0\x80", "\xc0\x80", "\x80", "\xf4\x90\x80\x80"})
    EXPECT_EQ(fit(grammar, broken), Fit::refused);
}

struct Wrong {
  std::string grammar, says;
};

TEST(Gbnf, what_is_wrong_is_said_with_its_place_and_what_to_do) {
  const std::vector<Wrong> cases = {
      {"", "no rule \"root\""},
      {"start ::= \"a\"", "no rule \"root\""},
      {"root ::= \"a\nb\"", "Line 1, column 10: This string is not closed"},
      {"root ::= \"a\"\nroot ::= \"b\"", "Line 2, column 1: The rule \"root\" is defined twice"},
      {"root ::= item", "Line 1, column 10: There is no rule \"item\""},
      {"root := \"a\"", "Line 1, column 6: Expected \"::=\" after \"root\", but found \":\""},
      {"root ::= \"a\" )",
       "Line 1, column 14: Expected the end of the rule \"root\", but found \")\""},
      {"root ::= (\"a\" | \"b\"\n",
       "Expected \")\" for the \"(\" in line 1, column 10, but the text ends here"},
      {"root ::= [a", "Line 1, column 10: This character class is not closed"},
      {"root ::= [z-a]", "Line 1, column 11: This range is reversed"},
      {"root ::= []", "This character class is empty"},
      {"root ::= \"\\q\"", "Line 1, column 11: Unknown escape \\q. Use one of \\n"},
      {"root ::= \"\\", "Line 1, column 11: Unknown escape \\. Use"},
      {"root ::= \"\\u12\"", "needs 4 hexadecimal digits"},
      {"root ::= \"\\ud800\"", "No character has this number"},
      {"root ::= \"a\"{3,2}", "Line 1, column 13: This repetition is reversed"},
      {"root ::= \"a\"{x}", "Expected a number, as in {2}"},
      {"root ::= \"a\"{999999999999999999999}", "can count to 100,000 at most"},
      {"root ::= <[1000]>", "Tokens by name or number"},
      {"\xff ::= \"a\"", "Line 1, column 1: Expected a rule's name"},
      {"root ::= \"\xff\"", "not valid UTF-8"},
      {"root ::= expr\nexpr ::= expr \"+\" expr | \"1\"",
       "Line 2, column 1: The rule \"expr\" begins with itself (expr → expr). Write it as a "
       "repetition"},
      {"root ::= a\na ::= b \"x\"\nb ::= \"y\"? c\nc ::= a | \"z\"", "begins with itself"},
      {"root ::= (root \"x\"){2} | \"y\"", "begins with itself (root → root)"},
      {"root ::= \"a\" root", "can never end"},
      {"root ::= \"a\" | b\nb ::= \"x\" c\nc ::= \"y\" b", "can never end"},
  };
  for (const Wrong& one : cases) {
    const Result<Grammar> grammar = parse_gbnf(one.grammar);
    ASSERT_FALSE(grammar.ok()) << one.grammar;
    EXPECT_EQ(grammar.error().code, "GRAMMAR");
    EXPECT_EQ(grammar.error().kind, ErrorKind::invalid);
    EXPECT_THAT(grammar.error().message, HasSubstr(one.says)) << one.grammar;
  }
}

TEST(Gbnf, what_is_too_large_is_refused_before_it_takes_memory) {
  EXPECT_THAT(parse_gbnf(std::string(kGbnfBytesMax + 1, '#')).error().message,
              HasSubstr("the limit is 262,144"));
  EXPECT_THAT(parse_gbnf("root ::= " + std::string(100, '(') + "\"a\"" + std::string(100, ')'))
                  .error()
                  .message,
              HasSubstr("more than 64 deep"));
  EXPECT_THAT(parse_gbnf("root ::= \"abc\"{100000} \"def\"{100000}").error().message,
              HasSubstr("more than 131,072 steps"));
  EXPECT_THAT(parse_gbnf("root ::= \"a\"" + std::string(100, '*')).error().message,
              HasSubstr("Too many repetitions"));
  // Each names the next one twice: 2^40 ways to begin.
  std::string ways;
  for (int i = 0; i < 40; ++i)
    ways += (i == 0 ? "root" : "r" + std::to_string(i)) + std::string(" ::= r") +
            std::to_string(i + 1) + " \"x\" | r" + std::to_string(i + 1) + " \"y\"\n";
  const Grammar grammar = value_of(parse_gbnf(ways + "r40 ::= \"z\"\n"));
  GrammarMatcher matcher(grammar);
  EXPECT_TRUE(matcher.was_limited());
}

TEST(GrammarMatcher, nesting_ends_at_its_limit_and_lists_do_not) {
  const Grammar nested = value_of(parse_gbnf("root ::= \"[\" root? \"]\""));
  std::string text;
  while (fit(nested, text + "[") != Fit::refused && text.size() < 2000) text += "[";
  EXPECT_EQ(text.size(), GrammarMatcher::kDepthMax + 1);
  const Grammar list = value_of(parse_gbnf("root ::= \"x\" root | \"y\""));  // calls at the end
  EXPECT_EQ(fit(list, std::string(100'000, 'x') + "y"), Fit::whole);
}

TEST(GrammarMatcher, forgets_all_but_where_it_is) {
  const Grammar grammar = value_of(parse_gbnf("root ::= \"[\" root? \"]\" | [0-9]{1,3}"));
  GrammarMatcher matcher(grammar);
  GrammarMatcher::State state = matcher.start();
  for (const char byte : std::string("[[[1"))
    state = matcher.after(state, static_cast<std::uint8_t>(byte));
  state = matcher.forget_but(state);
  for (const char byte : std::string("2]]")) {
    EXPECT_FALSE(matcher.may_end(state));
    state = matcher.after(state, static_cast<std::uint8_t>(byte));
    state = matcher.forget_but(state);
  }
  EXPECT_EQ(matcher.after(state, '1'), GrammarMatcher::kRefused);
  state = matcher.after(state, ']');
  EXPECT_TRUE(matcher.may_end(state));
  EXPECT_FALSE(matcher.may_go_on(state));
}

TEST(AnswerOpening, thoughts_stand_before_the_grammar) {
  const Grammar grammar = value_of(parse_gbnf("root ::= \"yes\""));
  const Grammar may = grammar.behind({.think_begin = "<think>", .think_end = "</think>"});
  for (const char* text : {"yes", "<think>hm</think>yes", "\n<think>\n</</thin</think>\n\nyes"})
    EXPECT_EQ(fit(may, text), Fit::whole) << text;
  for (const char* text : {"no", " yes", "<think>a</think>no", "<thinx"})
    EXPECT_EQ(fit(may, text), Fit::refused) << text;
  EXPECT_EQ(fit(may, "<think>yes"), Fit::begun);
  const Grammar does =
      grammar.behind({.think_begin = "<think>", .think_end = "</think>", .is_thinking = true});
  EXPECT_EQ(fit(does, "</think>yes"), Fit::whole);
  EXPECT_EQ(fit(does, "yes"), Fit::begun);
  EXPECT_EQ(fit(does, "</think>" + std::string(Grammar::kSpacesMax + 1, ' ')), Fit::refused);
  const Grammar marked =
      grammar.behind({.think_begin = "<a>", .think_end = "</a>", .answer_begin = "<f>"});
  for (const char* text : {"<f>yes", "<a>hm</a><a>hm</a><f>yes"})
    EXPECT_EQ(fit(marked, text), Fit::whole) << text;
  for (const char* text : {"yes", "<f>no", "<f> yes"})
    EXPECT_EQ(fit(marked, text), Fit::refused) << text;
  const Grammar spaced = grammar.behind({.drops_space = true});
  EXPECT_EQ(fit(spaced, " yes"), Fit::whole);
  EXPECT_EQ(fit(spaced, "yes"), Fit::whole);
}

// --- over tokens

const std::vector<std::string> kTexts = {"",  "y",    "yes", "no",   "n",    "es", "ye",
                                         "!", "</s>", "no",  "\xc3", "\xa9", "s!"};
constexpr std::int32_t kEnd = 8;

TokenConstraint constraint(const std::string& gbnf) {
  std::vector<std::string> texts = kTexts;
  texts[kEnd].clear();
  return {value_of(parse_gbnf(gbnf)),
          std::make_shared<TokenTrie>(texts, std::vector<std::int32_t>{kEnd})};
}

std::vector<std::int32_t> allowed(TokenConstraint& at) {
  std::vector<float> logits(kTexts.size(), 0);
  (void)at.mask(logits);
  std::vector<std::int32_t> out;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    EXPECT_EQ(at.allows(static_cast<std::int32_t>(i)), logits[i] == 0) << i;
    if (logits[i] == 0) out.push_back(static_cast<std::int32_t>(i));
  }
  return out;
}

TEST(TokenConstraint, allows_the_tokens_that_the_grammar_goes_on_with) {
  TokenConstraint at = constraint("root ::= \"yes!\" | \"no\" | [\xc3\xa9]");
  EXPECT_EQ(allowed(at), (std::vector<std::int32_t>{1, 2, 3, 4, 6, 9, 10}));
  at.take(1);
  EXPECT_EQ(allowed(at), std::vector<std::int32_t>{5});
  at.take(5);
  EXPECT_EQ(allowed(at), std::vector<std::int32_t>{7});
  EXPECT_FALSE(at.is_ended());
  at.take(7);
  EXPECT_TRUE(at.is_ended());
  EXPECT_EQ(allowed(at), std::vector<std::int32_t>{kEnd});
}

TEST(TokenConstraint, an_answer_may_end_where_the_grammar_may) {
  TokenConstraint at = constraint("root ::= \"no\" \"!\"*");
  at.take(9);
  EXPECT_EQ(allowed(at), (std::vector<std::int32_t>{7, kEnd}));
  EXPECT_FALSE(at.is_ended());
}

TEST(TokenConstraint, a_character_of_several_tokens_is_one) {
  TokenConstraint at = constraint("root ::= [\xc3\xa9]");
  EXPECT_EQ(allowed(at), std::vector<std::int32_t>{10});
  at.take(10);
  EXPECT_EQ(allowed(at), std::vector<std::int32_t>{11});
}

TEST(TokenConstraint, where_no_token_goes_on_it_is_stuck) {
  TokenConstraint at = constraint("root ::= \"n\" \"?\"");
  at.take(4);
  std::vector<float> logits(kTexts.size(), 0);
  EXPECT_FALSE(at.mask(logits));
  EXPECT_EQ(at.stuck().code, "GRAMMAR_STUCK");
  EXPECT_THAT(at.stuck().message, HasSubstr("no token of the model's vocabulary"));
}

}  // namespace
}  // namespace satchel::runtime
