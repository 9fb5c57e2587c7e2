// ChatRequest: what is asked of a model, in whichever interface it was asked. Reading one is pure:
// bytes in, a request or an error out.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/serve/answer_shape.h"
#include "app/serve/api_error.h"
#include "app/serve/fields.h"
#include "app/serve/tools.h"
#include "runtime/sampler/sampler.h"
#include "runtime/session/message.h"

namespace satchel::serve {

struct Said {
  runtime::Role role = runtime::Role::user;  // or the model's
  std::string text = {};                     // without thoughts
  runtime::TextMarks marks = {};
  bool knows_marks = true;  // false: as a store has it, or as the model said it
  // Of a request, until write_calls(): the model's calls behind the text; results before it.
  std::vector<ToolCall> calls = {};
  std::vector<ToolResult> results = {};
  friend bool operator==(const Said& a, const Said& b) {
    return a.role == b.role && a.text == b.text && a.marks == b.marks;
  }
};

struct ChatRequest {
  std::string model;  // "": the one that is open
  std::optional<std::string> system;
  std::size_t system_own = 0, system_end = 0;  // of it: what a response that follows inherits
  runtime::TextMarks system_marks = {};        // in it, by write_tools()
  std::vector<Said> messages;                  // the first and the last one are the user's
  runtime::Sampling sampling;                  // its grammar: by compile_shape()
  AnswerShape shape;
  const ToolForm* form = runtime::tool_forms().front();  // the model's
  std::vector<Tool> tools;
  ToolChoice tool_choice;
  std::vector<std::string> stop;
  // Which chat it is: the one with this id; else one of this group.
  std::string session, group;
  std::string previous;  // the response that it follows (response_ids.h); "": none
  std::string recipe;    // of a chat that begins with it; "": the server's
  bool thinks = true;    // false: not to be done where the model has a switch
  bool streams = false, wants_usage = false;
  std::vector<std::string> ignored;  // fields that mean nothing here
  Json echo = Json::object();        // fields that a response says again
};

inline constexpr std::size_t kSessionBytesMax = 128;
// Printable, and short enough for a name.
bool is_session_id(std::string_view id);
// No path: files are not for clients to name. "" is one.
bool is_recipe_name(std::string_view name);

// sampling  what holds where the request says nothing
struct Defaults {
  runtime::Sampling sampling;
};
using Parsed = std::optional<ApiError>;
Parsed parse_chat(const Json& body, const Defaults& defaults, ChatRequest& request);
Parsed parse_completion(const Json& body, const Defaults& defaults, ChatRequest& request);
Parsed parse_messages(const Json& body, const Defaults& defaults, ChatRequest& request);
Parsed parse_response(const Json& body, const Defaults& defaults, ChatRequest& request);

// --- for the parsers
inline constexpr std::size_t kStopsMax = 4;
inline constexpr std::string_view kSystemJoin = "\n\n";
inline constexpr std::uint64_t kTokensMax = 1u << 31;
inline constexpr std::size_t kArgumentsBytesMax = 1u << 20;  // of a call that a client sends back
// Text, or a list of parts, of which only texts are taken.
std::string content_text(const Json& content, const std::string& path, Fields& fields,
                         std::initializer_list<std::string_view> types);
// Adds one message: system texts come first, and are joined.
void add_message(const std::string& role, std::string text, const std::string& path, Fields& fields,
                 ChatRequest& request);
void read_sampling(Fields& fields, const Defaults& defaults, ChatRequest& request);
void read_identity(Fields& fields, ChatRequest& request);
// What OpenAI's interfaces offer and is refused.
void read_openai_limits(Fields& fields);
Parsed finished(Fields& fields, ChatRequest& request);

}  // namespace satchel::serve
