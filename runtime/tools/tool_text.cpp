#include "runtime/tools/tool_text.h"

#include <algorithm>
#include <utility>

#include "runtime/grammar/json_excess.h"
#include "runtime/grammar/json_schema.h"

namespace satchel::runtime {
namespace {

void write_spaced(const OrderedJson& value, std::string& out) {
  if (!value.is_structured()) {
    out += compact_json(value);
    return;
  }
  bool is_first = true;
  out += value.is_object() ? '{' : '[';
  for (const auto& [name, one] : value.items()) {
    if (!std::exchange(is_first, false)) out += ", ";
    if (value.is_object()) out += compact_json(name) + ": ";
    write_spaced(one, out);
  }
  out += value.is_object() ? '}' : ']';
}

}  // namespace

std::string compact_json(const OrderedJson& value) {
  return value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

std::string spaced_json(const OrderedJson& value) {
  std::string out;
  write_spaced(value, out);
  return out;
}

OrderedJson tool_json(const Tool& tool) {
  OrderedJson function{{"name", tool.name}};
  if (!tool.description.empty()) function["description"] = tool.description;
  if (!tool.parameters.empty())
    function["parameters"] = OrderedJson::parse(tool.parameters, nullptr, false);
  return {{"type", "function"}, {"function", std::move(function)}};
}

OrderedJson read_json(std::string_view text) {
  if (json_excess(text) != nullptr) return OrderedJson::value_t::discarded;
  return OrderedJson::parse(text, nullptr, false);
}

OrderedJson arguments_of(const ToolCall& call) {
  OrderedJson given = read_json(call.arguments.empty() ? "{}" : std::string_view(call.arguments));
  return given.is_discarded() ? OrderedJson(call.arguments) : given;
}

std::string_view schema_of(const Tool& tool) {
  return tool.parameters.empty() ? kNoParameters : std::string_view(tool.parameters);
}

const Tool* find_tool(std::span<const Tool> tools, std::string_view name) {
  const auto found = std::ranges::find(tools, name, &Tool::name);
  return found == tools.end() ? nullptr : &*found;
}

Error of_tool(const Tool& tool, const Error& error) {
  return {error.kind, error.code, "Tool \"" + tool.name + "\": " + error.message};
}

Result<GrammarBuilder::Node> json_call(CallGrammar& grammar) {
  GrammarBuilder& b = grammar.builder;
  std::vector<GrammarBuilder::Node> ways;
  for (std::size_t i = 0; i < grammar.tools.size(); ++i) {
    const Tool& tool = grammar.tools[i];
    const Result<GrammarBuilder::Node> arguments =
        add_schema(schema_of(tool), "tool-" + std::to_string(i), b, grammar.json);
    if (!arguments.ok()) return of_tool(tool, arguments.error());
    ways.push_back(
        b.sequence({b.text("{\"name\": \"" + tool.name + "\", \"arguments\": "), *arguments}));
  }
  return b.sequence({b.any_of(std::move(ways)), b.text("}")});
}

bool read_json_call(const OrderedJson& said, std::vector<ToolCall>& calls) {
  if (!said.is_object() || !said.contains("name") || !said["name"].is_string()) return false;
  const OrderedJson given = said.contains("arguments") ? said["arguments"] : OrderedJson::object();
  calls.push_back(
      {.id = {},
       .name = said["name"].get<std::string>(),
       .arguments = given.is_string() ? given.get<std::string>() : compact_json(given)});
  return true;
}

std::size_t end_behind_json(std::string_view text, std::string_view end, std::string_view quotes) {
  char quote = 0;  // of the string that goes on
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (quote != 0 && text[i] == '\\')
      ++i;
    else if (quote != 0)
      quote = text[i] == quote ? '\0' : quote;
    else if (quotes.find(text[i]) != std::string_view::npos)
      quote = text[i];
    else if (text.substr(i).starts_with(end))
      return i + end.size();
  }
  return std::string_view::npos;
}

std::string_view trimmed_end(std::string_view text) {
  const std::size_t last = text.find_last_not_of(kSpace);
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

std::string_view trimmed(std::string_view text) {
  text = trimmed_end(text);
  return text.substr(std::min(text.find_first_not_of(kSpace), text.size()));
}

}  // namespace satchel::runtime
