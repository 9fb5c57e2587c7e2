#include "app/serve/tools.h"

#include <algorithm>
#include <utility>

#include "app/serve/chat_request.h"
#include "app/serve/known_chat.h"

namespace satchel::serve {
namespace {

using runtime::kCallBegin;
using runtime::kCallEnd;
using Calls = runtime::ToolAnswers::Calls;

constexpr std::size_t kNameBytesMax = 64;
constexpr std::string_view kSpace = " \t\r\n", kResultEnd = "</tool_response>";

bool is_tool_name(std::string_view name) {
  return !name.empty() && name.size() <= kNameBytesMax && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

// One tool; "function" holds it in chat completions.
void read_tool(const Json& given, const std::string& path, Fields& fields, ChatRequest& request) {
  Fields outer(given, path);
  const std::string type = outer.text("type");
  if (!type.empty() && type != "function" && type != "custom")
    outer.fail("type", "must be function: no other tools are run here.", "unsupported");
  const Json* const wrapped = outer.find("function");
  Fields inner(wrapped != nullptr ? *wrapped : given,
               wrapped != nullptr ? outer.path_of("function") : path);
  Tool tool{.name = inner.text("name"), .description = inner.text("description", 1u << 16)};
  if (!is_tool_name(tool.name))
    inner.fail("name", "must be letters, digits, \"_\" and \"-\", at most 64.");
  if (std::ranges::any_of(request.tools, [&](const Tool& one) { return one.name == tool.name; }))
    inner.fail("name", "is the name of another tool, too.");
  for (const char* name : {"parameters", "input_schema"})
    if (const Json* schema = inner.find(name)) tool.parameters = dump(*schema);
  if (outer.error()) fields.fail(*outer.error());
  if (inner.error()) fields.fail(*inner.error());
  request.tools.push_back(std::move(tool));
}

void read_choice(Fields& fields, ChatRequest& request) {
  const Json* const choice = fields.find("tool_choice");
  if (choice == nullptr) return;
  ToolChoice& chosen = request.tool_choice;
  std::string type = choice->is_string() ? choice->get<std::string>() : "";
  if (choice->is_object()) {
    Fields inside(*choice, "tool_choice");
    type = inside.text("type");
    const Json* const wrapped = inside.find("function");
    Fields function(wrapped != nullptr ? *wrapped : *choice, "tool_choice");
    chosen.name = function.text("name");
    if (inside.flag("disable_parallel_tool_use", false)) chosen.is_one = true;
    if (inside.error()) return fields.fail(*inside.error());
  }
  const bool is_named = type == "function" || type == "tool";
  if (type == "none")
    chosen.calls = Calls::none;
  else if (type == "required" || type == "any" || is_named)
    chosen.calls = Calls::must;
  else if (type != "auto")
    return fields.fail("tool_choice", "must be auto, none, required or a function.");
  chosen.is_one = chosen.is_one || is_named;
  const auto has_name = [&](const Tool& tool) { return tool.name == chosen.name; };
  if (is_named && std::ranges::none_of(request.tools, has_name))
    fields.fail("tool_choice", "names none of the tools.");
  if (!is_named) chosen.name.clear();
  if (request.tools.empty() && chosen.calls == Calls::must)
    fields.fail("tool_choice", "asks for a call, and there are no tools.");
}

// With the spaces that models have seen.
void write_spaced(const Json& value, std::string& out) {
  if (!value.is_structured()) {
    out += dump(value);
    return;
  }
  bool is_first = true;
  out += value.is_object() ? '{' : '[';
  for (const auto& [name, one] : value.items()) {
    if (!std::exchange(is_first, false)) out += ", ";
    if (value.is_object()) out += dump(Json(name)) + ": ";
    write_spaced(one, out);
  }
  out += value.is_object() ? '}' : ']';
}

std::string trimmed_end(std::string_view text) {
  const std::size_t last = text.find_last_not_of(kSpace);
  return std::string(text.substr(0, last == std::string_view::npos ? 0 : last + 1));
}

// How many of the last bytes may belong to a call: the beginning of its mark, and white space.
std::size_t n_held(std::string_view text) {
  std::size_t n = std::min(text.size(), kCallBegin.size() - 1);
  while (n > 0 && !text.ends_with(kCallBegin.substr(0, n))) --n;
  return text.size() - trimmed_end(text.substr(0, text.size() - n)).size();
}

// Between the marks.
bool read_call(std::string_view text, ToolCall& call) {
  const Json said = Json::parse(text, nullptr, false);
  if (!said.is_object() || !said.contains("name") || !said["name"].is_string()) return false;
  call.id = fresh_id("call_");
  call.name = said["name"].get<std::string>();
  const Json arguments = said.contains("arguments") ? said["arguments"] : Json::object();
  call.arguments = arguments.is_string() ? arguments.get<std::string>() : dump(arguments);
  return true;
}

bool has_call(const std::string& text) {
  return text.find(kCallBegin) != std::string::npos;
}

}  // namespace

std::string comparable_text(const std::string& text) {
  if (!has_call(text)) return text;
  CallReader reader(true);
  CallReader::Read read = reader.push(text);
  const CallReader::Read rest = reader.finish();
  std::string out = trimmed_end(read.said + rest.said);
  for (const ToolCall& call : read.calls)
    out += "\n" + call.name + " " + nlohmann::json::parse(call.arguments, nullptr, false).dump();
  return out;
}

void read_tools(Fields& fields, ChatRequest& request) {
  if (const Json* tools = fields.find("tools")) {
    if (!tools->is_array() || tools->size() > kToolsMax)
      return fields.fail("tools", "must be a list of " + std::to_string(kToolsMax) + " at most.");
    for (std::size_t i = 0; i < tools->size() && !fields.error(); ++i)
      read_tool((*tools)[i], "tools[" + std::to_string(i) + "]", fields, request);
  }
  request.tool_choice.is_one = !fields.flag("parallel_tool_calls", true);
  read_choice(fields, request);
}

std::string call_text(std::string_view name, const std::string& arguments) {
  const Json given = Json::parse(arguments.empty() ? "{}" : arguments, nullptr, false);
  std::string text = std::string(kCallBegin) + "\n{\"name\": " + dump(Json(std::string(name))) +
                     ", \"arguments\": ";
  write_spaced(given.is_discarded() ? Json(arguments) : given, text);
  return text + "}\n" + std::string(kCallEnd);
}

std::string result_text(const std::string& result) {
  return "<tool_response>\n" + result + "\n" + std::string(kResultEnd);
}

std::string tools_text(const std::vector<Tool>& tools) {
  std::string text =
      "# Tools\n\nYou may call one or more functions to assist with the user query.\n\nYou are "
      "provided with function signatures within <tools></tools> XML tags:\n<tools>";
  for (const Tool& tool : tools) {
    Json function{{"name", tool.name}};
    if (!tool.description.empty()) function["description"] = tool.description;
    if (!tool.parameters.empty())
      function["parameters"] = Json::parse(tool.parameters, nullptr, false);
    text += "\n";
    write_spaced(Json{{"type", "function"}, {"function", std::move(function)}}, text);
  }
  return text +
         "\n</tools>\n\nFor each function call, return a json object with function name and "
         "arguments within <tool_call></tool_call> XML tags:\n<tool_call>\n{\"name\": "
         "<function-name>, \"arguments\": <args-json-object>}\n</tool_call>";
}

void add_call(std::string_view name, const std::string& arguments, ChatRequest& request) {
  std::vector<Said>& messages = request.messages;
  const std::string text = call_text(name, arguments);
  if (messages.empty() || messages.back().role != runtime::Role::assistant)
    messages.push_back({runtime::Role::assistant, text});
  else
    messages.back().text += (messages.back().text.empty() ? "" : "\n") + text;
}

void add_result(const std::string& result, ChatRequest& request) {
  std::vector<Said>& messages = request.messages;
  const bool follows = !messages.empty() && messages.back().role == runtime::Role::user &&
                       messages.back().text.ends_with(kResultEnd);
  if (follows)
    messages.back().text += "\n" + result_text(result);
  else
    messages.push_back({runtime::Role::user, result_text(result)});
}

bool is_same_text(const std::string& a, const std::string& b) {
  if (a == b) return true;
  return has_call(a) && has_call(b) && comparable_text(a) == comparable_text(b);
}

// --- CallReader

CallReader::Read CallReader::push(std::string_view delta) {
  Read read;
  held_ += delta;
  if (reads_)
    take(read);
  else
    read.said = std::exchange(held_, {});
  return read;
}

void CallReader::take(Read& read) {
  for (;;) {
    const std::size_t mark = held_.find(in_call_ ? kCallEnd : kCallBegin);
    if (mark == std::string::npos) break;
    const std::string before = held_.substr(0, mark);
    held_.erase(0, mark + (in_call_ ? kCallEnd : kCallBegin).size());
    ToolCall call;
    if (!in_call_)
      read.said += trimmed_end(before);
    else if (read_call(before, call))
      read.calls.push_back(std::move(call));
    else
      read.said += std::string(kCallBegin) + before + std::string(kCallEnd);
    had_call_ = had_call_ || in_call_;
    in_call_ = !in_call_;
  }
  if (in_call_) return;
  if (had_call_) held_.erase(0, std::min(held_.find_first_not_of(kSpace), held_.size()));
  const std::size_t n = held_.size() - n_held(held_);
  if (n > 0) had_call_ = false;
  read.said += held_.substr(0, n);
  held_.erase(0, n);
}

CallReader::Read CallReader::finish() {
  Read read;
  if (in_call_) read.said = kCallBegin;
  read.said += std::exchange(held_, {});
  return read;
}

}  // namespace satchel::serve
