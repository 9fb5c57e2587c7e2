// Answers of a model with tools: which texts and calls they may be.
#include "runtime/tools/tool_grammar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/value_of.h"
#include "unit/runtime/grammar_texts.h"

namespace satchel::runtime {
namespace {

using test::Fit;
using test::fit;
using Calls = ToolAnswers::Calls;

const std::vector<Tool> kTools = {
    {"find", "", R"({"type": "object", "properties": {"pet": {"enum": ["cat", "dog"]}},
                 "required": ["pet"], "additionalProperties": false})"},
    {"stop", "", ""}};
const std::string kFind =
    "<tool_call>\n{\"name\": \"find\", \"arguments\": {\"pet\": \"cat\"}}\n</tool_call>";
const std::string kStop = "<tool_call>\n{\"name\": \"stop\", \"arguments\": {}}\n</tool_call>";
const std::string kWrong =
    "<tool_call>\n{\"name\": \"find\", \"arguments\": {\"pet\": \"cow\"}}\n</tool_call>";

Grammar grammar_of(Calls calls, bool is_one = false, std::string text_schema = {}) {
  return value_of(grammar_of_tools({.form = tool_form("json"),
                                    .tools = kTools,
                                    .calls = calls,
                                    .is_one = is_one,
                                    .text_schema = std::move(text_schema)}));
}

TEST(ToolGrammar, a_model_that_may_call_says_any_text_and_whole_calls_alone) {
  const Grammar grammar = grammar_of(Calls::may);
  for (const std::string& text :
       {std::string("Hello."), std::string("a < b <tool> </tool_call>"), std::string(), kFind,
        kFind + "\n" + kStop, "Let me see.\n" + kFind})
    EXPECT_EQ(fit(grammar, text), Fit::whole) << text;
  EXPECT_EQ(fit(grammar, kWrong), Fit::refused);
  EXPECT_EQ(fit(grammar, kFind + " and more"), Fit::refused);
  EXPECT_EQ(fit(grammar, "Well: <tool_call>"), Fit::begun) << "a call that was begun is made";
  EXPECT_EQ(fit(grammar, "<tool_call>\n{\"name\": \"other\""), Fit::refused);
}

TEST(ToolGrammar, one_that_must_calls_and_one_that_must_not_does_not) {
  const Grammar must = grammar_of(Calls::must);
  EXPECT_EQ(fit(must, kStop), Fit::whole);
  EXPECT_EQ(fit(must, "Hello."), Fit::refused);
  EXPECT_EQ(fit(must, kFind + "\n" + kFind), Fit::whole);
  EXPECT_EQ(fit(grammar_of(Calls::must, true), kFind + "\n" + kFind), Fit::refused);
  const Grammar none = grammar_of(Calls::none);
  EXPECT_EQ(fit(none, "Hello."), Fit::whole);
  EXPECT_EQ(fit(none, kFind), Fit::refused);
}

TEST(ToolGrammar, a_text_with_a_schema_is_that_or_calls) {
  const Grammar grammar = grammar_of(Calls::may, false, R"({"type": "integer"})");
  EXPECT_EQ(fit(grammar, "12"), Fit::whole);
  EXPECT_EQ(fit(grammar, kFind), Fit::whole);
  EXPECT_EQ(fit(grammar, "Let me see.\n" + kFind), Fit::refused);
  EXPECT_EQ(fit(grammar, "12\n" + kFind), Fit::refused);
}

TEST(ToolGrammar, a_bad_schema_names_its_tool) {
  const std::vector<Tool> tools = {
      {"find", "", R"({"type": "object", "properties": {"a": {"not": {}}}})"}};
  for (const ToolForm* form : tool_forms()) {
    const Result<Grammar> grammar = grammar_of_tools({.form = *form, .tools = tools});
    ASSERT_FALSE(grammar.ok()) << form->name;
    EXPECT_EQ(grammar.error().code, "SCHEMA");
    EXPECT_THAT(grammar.error().message, testing::StartsWith("Tool \"find\": "));
  }
}

Result<Grammar> grammar_with(const ToolForm& form, const std::string& parameters) {
  const std::vector<Tool> tools = {{"find", "", parameters}};
  return grammar_of_tools({.form = form, .tools = tools, .calls = Calls::must});
}

TEST(ToolGrammar, no_form_passes_over_a_keyword) {
  for (const ToolForm* form : tool_forms())
    for (const char* schema :
         {R"({"type": "object", "properties": {"a": {"type": "integer"}}, "minProperties": 1})",
          R"({"type": "object", "properties": {"a": {"type": "string", "not": {"const": "x"}}}})"})
      EXPECT_FALSE(grammar_with(*form, schema).ok()) << form->name << schema;
}

// Each level has two ways to the next: two to the power of 60 in all.
TEST(ToolGrammar, references_are_not_followed_again_and_again) {
  std::string levels;
  for (int i = 0; i < 60; ++i) {
    const std::string next = R"({"$ref": "#/$defs/a)" + std::to_string(i + 1) + "\"}";
    levels += "\"a" + std::to_string(i) + R"(": {"anyOf": [)" + next + ", " + next + "]}, ";
  }
  const std::string schema =
      R"({"type": "object", "properties": {"x": {"$ref": "#/$defs/a0"}}, "$defs": {)" + levels +
      R"("a60": {"type": "string"}}})";
  for (const ToolForm* form : tool_forms()) (void)grammar_with(*form, schema);  // comes to an end
}

TEST(ToolGrammar, choices_may_hold_the_beginning_of_an_end) {
  for (const ToolForm* form : tool_forms()) {
    const Grammar grammar = value_of(grammar_with(
        *form,
        R"({"type": "object", "properties": {"op": {"enum": ["<", ">"]}}, "required": ["op"]})"));
    std::string call = form->answer("", {{ToolCall{"", "find", R"({"op":"<"})"}}}).text;
    if (form->name.starts_with("lfm2")) continue;  // spelled with Python's quotes
    EXPECT_EQ(fit(grammar, call.substr(call.find(form->begin))), Fit::whole) << call;
  }
}

TEST(ToolGrammar, names_that_a_form_cannot_spell_are_refused) {
  const auto made =
      grammar_with(tool_form("gemma-4"),
                   R"({"type": "object", "properties": {"dc:title": {"type": "string"}}})");
  ASSERT_FALSE(made.ok());
  EXPECT_EQ(made.error().code, "SCHEMA");
  EXPECT_THAT(made.error().message, testing::HasSubstr("dc:title"));
}

}  // namespace
}  // namespace satchel::runtime
