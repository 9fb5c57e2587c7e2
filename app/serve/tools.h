// Tools: what a client offers to be called, what it sends back of calls and their results, and how
// both become texts in the form that the model was trained on (runtime/tools).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/serve/fields.h"
#include "runtime/tools/tool_form.h"
#include "runtime/tools/tool_grammar.h"

namespace satchel::serve {

struct ChatRequest;
struct Said;
using runtime::Tool;
using runtime::ToolCall;
using runtime::ToolForm;
using runtime::ToolResult;

struct ToolChoice {
  runtime::ToolAnswers::Calls calls = runtime::ToolAnswers::Calls::may;
  std::string name;  // the only one that may be called; "": any
  bool is_one = false;
};

inline constexpr std::size_t kToolsMax = 128;

// --- what a client offers: OpenAI's form, wrapped in "function" or not, and Anthropic's.
void read_tools(Fields& fields, ChatRequest& request);

// Adds a call to the model's message that is last, or as one; a result to those before it.
void add_call(ToolCall call, ChatRequest& request);
void add_result(ToolResult result, ChatRequest& request);

// --- as text, in the form of the request
// Of messages with calls and results, which are texts from then on. A result whose call is none of
// the request's belongs to the call at its place in the message before.
void write_calls(ChatRequest& request);
// Into the system text. default_text: where the request has none
void write_tools(const std::string& default_text, ChatRequest& request);
Said said_with_calls(const std::string& text, const std::vector<ToolCall>& calls,
                     const ToolForm& form);
// Where it has calls: said with their names and arguments, however they are spaced and ordered.
std::string comparable_text(const std::string& text, const ToolForm& form);
// Whether both say the same by that.
bool is_same_text(const std::string& a, const std::string& b, const ToolForm& form);

}  // namespace satchel::serve
