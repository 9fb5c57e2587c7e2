// Tools: what a client offers to be called, and how it is told to a model and read from it. Models
// know calls as text, in one form (runtime/grammar/tool_grammar.h); here it is written and parsed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/serve/fields.h"
#include "runtime/grammar/tool_grammar.h"

namespace satchel::serve {

struct ChatRequest;

struct Tool {
  std::string name, description;
  std::string parameters = {};  // a JSON schema; "": it takes none
};

struct ToolChoice {
  runtime::ToolAnswers::Calls calls = runtime::ToolAnswers::Calls::may;
  std::string name;  // the only one that may be called; "": any
  bool is_one = false;
};

struct ToolCall {
  std::string id, name;
  std::string arguments;  // JSON
};

inline constexpr std::size_t kToolsMax = 128;

// --- what a client offers: OpenAI's form, wrapped in "function" or not, and Anthropic's.
void read_tools(Fields& fields, ChatRequest& request);

// --- as text
std::string call_text(std::string_view name, const std::string& arguments);
std::string result_text(const std::string& result);
// For the system text: what there is, and how it is called.
std::string tools_text(const std::vector<Tool>& tools);
// Adds a call to the model's message that is last, or as one; a result to those before it.
void add_call(std::string_view name, const std::string& arguments, ChatRequest& request);
void add_result(const std::string& result, ChatRequest& request);
// Where it has calls: said with their names and arguments, however they are spaced and ordered.
std::string comparable_text(const std::string& text);
// Whether both say the same by that.
bool is_same_text(const std::string& a, const std::string& b);

// Separates calls from what is said, as an answer is made. White space beside calls is dropped;
// what is no whole call in the end is text.
class CallReader {
 public:
  struct Read {
    std::string said;
    std::vector<ToolCall> calls;
  };
  // reads: false: all is text
  explicit CallReader(bool reads) : reads_(reads) {}
  Read push(std::string_view delta);
  Read finish();

 private:
  void take(Read& read);

  bool reads_;
  bool in_call_ = false, had_call_ = false;
  std::string held_;
};

}  // namespace satchel::serve
