// The answers of a model that has tools: text, calls in its form, or one behind the other. The
// arguments are what the tool's schema accepts.
#pragma once

#include <span>
#include <string>

#include "kernels/base/result.h"
#include "runtime/grammar/grammar.h"
#include "runtime/tools/tool_form.h"

namespace satchel::runtime {

struct ToolAnswers {
  const ToolForm& form;
  std::span<const Tool> tools;
  enum class Calls { none, may, must } calls = Calls::may;
  bool is_one = false;  // call at most
  // What a text without calls must be, as a JSON schema; "": any text. A text may only stand before
  // calls if it may be any.
  std::string text_schema = {};
};

//   errors  SCHEMA, with the tool's name; GRAMMAR: too many steps
Result<Grammar> grammar_of_tools(const ToolAnswers& answers);

}  // namespace satchel::runtime
