#include "app/serve/tools.h"

#include <algorithm>
#include <map>
#include <utility>

#include "app/serve/chat_request.h"
#include "runtime/grammar/json_excess.h"
#include "runtime/tools/call_reader.h"
#include "runtime/tools/tool_text.h"

namespace satchel::serve {
namespace {

using Calls = runtime::ToolAnswers::Calls;

constexpr std::size_t kNameBytesMax = 64;

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

// The names of the calls of a message, in their order.
std::vector<std::string> called_in(const Said& said, const ChatRequest& request) {
  std::vector<std::string> names;
  for (const ToolCall& call : said.calls) names.push_back(call.name);
  if (!names.empty() || said.role != runtime::Role::assistant) return names;
  const auto read = runtime::read_calls(said.text, *request.form);
  if (read)
    for (const ToolCall& call : read->calls) names.push_back(call.name);
  return names;
}

using NamesById = std::map<std::string, std::string>;

// called  by the message that these results follow
void name_results(const NamesById& names, const std::vector<std::string>& called,
                  std::vector<ToolResult>& all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (const auto found = names.find(all[i].call_id); found != names.end())
      all[i].name = found->second;
    else if (!called.empty())
      all[i].name = called[std::min(i, called.size() - 1)];
  }
}

// The same calls. Where strings stand bare all values are texts now: what type they have their tool
// says, and it may be another by then.
runtime::CallReader::Read as_written(const runtime::CallReader::Read& guessed,
                                     const std::string& text, const ToolForm& form) {
  std::map<std::string, Json> properties;  // of each name
  for (const ToolCall& call : guessed.calls) {
    const Json arguments = Json::parse(call.arguments, nullptr, false);
    Json& known = properties.try_emplace(call.name, Json::object()).first->second;
    if (arguments.is_object())
      for (const auto& [name, value] : arguments.items()) known[name] = {{"type", "string"}};
  }
  std::vector<Tool> all_texts;
  for (const auto& [name, known] : properties)
    all_texts.push_back({.name = name,
                         .description = "",
                         .parameters = dump({{"type", "object"}, {"properties", known}})});
  const auto read = runtime::read_calls(text, form, all_texts);
  return read && read->calls.size() == guessed.calls.size() ? *read : guessed;
}

// Bare values by their bytes, but lists and objects however they are spaced and ordered.
std::string comparable_arguments(const ToolCall& guessed, const ToolCall& written) {
  for (const std::string* text : {&guessed.arguments, &written.arguments})
    if (runtime::json_excess(*text) != nullptr) return written.arguments;
  auto given = nlohmann::json::parse(guessed.arguments, nullptr, false);  // sorted
  auto all = nlohmann::json::parse(written.arguments, nullptr, false);
  if (all.is_discarded()) return written.arguments;
  if (all.is_object() && given.is_object())
    for (auto& [name, value] : all.items())
      if (given[name].is_structured()) value = given[name];
  return dump(all);
}

// Of a response that is followed, calls are texts: another prompt has them as their form has them.
Said with_marks(const Said& said, const ToolForm& form) {
  if (said.knows_marks || said.role != runtime::Role::assistant) return said;
  const auto guessed = runtime::read_calls(said.text, form);
  if (!guessed) return said;
  const runtime::CallReader::Read written = as_written(*guessed, said.text, form);
  Said marked = said_with_calls(written.said, written.calls, form);
  return is_same_text(said.text, marked.text, form) ? marked : said;
}

// Where a form put the system text: without its first bytes, if it trims them.
struct Moved {
  std::size_t at = 0, n_bytes = 0, n_dropped = 0;
};

Moved moved_in(std::string_view told, std::string_view own, const ToolForm& form,
               const std::vector<Tool>& tools) {
  // Two texts differ at once: up to there the form itself speaks.
  const std::string one = form.system("a", tools).text, other = form.system("b", tools).text;
  Moved moved;
  const auto begin = std::ranges::mismatch(one, other).in1 - one.begin();
  moved.at = std::min(static_cast<std::size_t>(begin), told.size());
  told.remove_prefix(moved.at);
  std::string_view text = own;
  for (const std::string_view less : {runtime::trimmed_end(own), runtime::trimmed(own)})
    if (!told.starts_with(text)) text = less;
  moved.n_bytes = std::min(text.size(), told.size());
  moved.n_dropped = text.empty() ? own.size() : static_cast<std::size_t>(text.data() - own.data());
  return moved;
}

}  // namespace

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

void add_call(ToolCall call, ChatRequest& request) {
  std::vector<Said>& messages = request.messages;
  if (messages.empty() || messages.back().role != runtime::Role::assistant)
    messages.push_back({.role = runtime::Role::assistant});
  messages.back().calls.push_back(std::move(call));
}

void add_result(ToolResult result, ChatRequest& request) {
  std::vector<Said>& messages = request.messages;
  const bool follows =
      !messages.empty() && !messages.back().results.empty() && messages.back().text.empty();
  if (!follows) messages.push_back({.role = runtime::Role::user});
  messages.back().results.push_back(std::move(result));
}

Said said_with_calls(const std::string& text, const std::vector<ToolCall>& calls,
                     const ToolForm& form) {
  runtime::MarkedText written = form.answer(text, calls);
  return {.role = runtime::Role::assistant,
          .text = std::move(written.text),
          .marks = std::move(written.marks)};
}

void write_calls(ChatRequest& request) {
  NamesById names;
  std::vector<std::string> called;  // by the message before
  std::vector<Said> out;
  for (Said& said : request.messages) {
    if (said.results.empty()) {
      called = called_in(said, request);
      for (const ToolCall& call : said.calls)
        if (!call.id.empty()) names[call.id] = call.name;
      out.push_back(said.calls.empty() ? with_marks(said, *request.form)
                                       : said_with_calls(said.text, said.calls, *request.form));
      continue;
    }
    name_results(names, called, said.results);
    runtime::MarkedText written = request.form->results(said.results);
    // What the user says behind them is of the same message, unless they are no user's.
    const bool is_apart = written.marks.is_turn;
    if (!is_apart && !said.text.empty()) written.add("\n").add(said.text);
    out.push_back({.role = runtime::Role::user, .text = written.text, .marks = written.marks});
    if (is_apart && !said.text.empty())
      out.push_back({.role = runtime::Role::user, .text = said.text});
  }
  request.messages = std::move(out);
}

void write_tools(const std::string& default_text, ChatRequest& request) {
  if (request.tools.empty()) return;
  const std::string own = request.system.value_or(default_text);
  runtime::MarkedText told = request.form->system(own, request.tools);
  if (request.system_end > 0) {
    const Moved moved = moved_in(told.text, own, *request.form, request.tools);
    for (std::size_t* const place : {&request.system_own, &request.system_end})
      *place = moved.at + std::min(*place - std::min(*place, moved.n_dropped), moved.n_bytes);
  }
  request.system = std::move(told.text);
  request.system_marks = std::move(told.marks);
}

std::string comparable_text(const std::string& text, const ToolForm& form) {
  const auto guessed = runtime::read_calls(text, form);
  if (!guessed) return text;
  const runtime::CallReader::Read written = as_written(*guessed, text, form);
  std::string out(runtime::trimmed(written.said));
  for (std::size_t i = 0; i < written.calls.size(); ++i)
    out += "\n" + written.calls[i].name + " " +
           comparable_arguments(guessed->calls[i], written.calls[i]);
  return out;
}

bool is_same_text(const std::string& a, const std::string& b, const ToolForm& form) {
  const auto has_call = [&](const std::string& text) { return text.find(form.begin) != text.npos; };
  if (a == b) return true;
  return has_call(a) && has_call(b) && comparable_text(a, form) == comparable_text(b, form);
}

}  // namespace satchel::serve
