// The answers of a model that has tools: text, calls, or one behind the other.
//   form     <tool_call>, {"name": "NAME", "arguments": {…}}, </tool_call>, each on a line of its
//            own; the arguments are what the tool's schema accepts
//   source   the form that Hermes 2 Pro, Qwen 2.5 and Qwen 3 were trained on
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "kernels/base/result.h"
#include "runtime/grammar/grammar.h"

namespace satchel::runtime {

inline constexpr std::string_view kCallBegin = "<tool_call>", kCallEnd = "</tool_call>";

struct ToolSchema {
  std::string name;        // letters, digits, "_" and "-"
  std::string parameters;  // a JSON schema; "": it takes none
};

struct ToolAnswers {
  std::span<const ToolSchema> tools;
  enum class Calls { none, may, must } calls = Calls::may;
  bool is_one = false;  // call at most
  // What a text without calls must be, as a JSON schema; "": any text. A text may only stand before
  // calls if it may be any.
  std::string text_schema = {};
};

//   errors  SCHEMA, with the tool's name; GRAMMAR: too many steps
Result<Grammar> grammar_of_tools(const ToolAnswers& answers);

}  // namespace satchel::runtime
