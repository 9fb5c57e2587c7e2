// Calls as messages of the model to a function, in the channel commentary.
//   form    <|channel|>commentary to=functions.NAME <|constrain|>json<|message|>{…}<|call|>, one in
//           an answer; a result is a message of the function. The tools are types of TypeScript in
//           the developer's message
//   differs the template writes calls of earlier turns with the recipient first, and results as
//           JSON; here both are as the guide to the format has them and as the model writes calls
//   source  gpt-oss's template; OpenAI's guide to the harmony response format
#include <utility>

#include "runtime/grammar/json_schema.h"
#include "runtime/tokenizer/turn_format.h"
#include "runtime/tools/bare_values.h"
#include "runtime/tools/tool_text.h"

namespace satchel::runtime {
namespace {

using Json = OrderedJson;
using Node = GrammarBuilder::Node;

constexpr std::string_view kBegin = "<|channel|>commentary to=functions.";
constexpr std::string_view kConstrain = "<|constrain|>", kCallEnd = "<|call|>", kEnd = "<|end|>";
constexpr std::string_view kNext = "<|call|><|start|>assistant";  // between two calls
constexpr std::size_t kTypeMax = 50;                              // of a list's items

// --- types

std::string type_of(const Json& schema);

std::string text_of(const Json& schema, const char* name) {
  return schema.contains(name) && schema[name].is_string() ? schema[name].get<std::string>() : "";
}

bool is_true(const Json& schema, const char* name) {
  return schema.contains(name) && schema[name] == Json(true);
}

bool is_required(const Json& schema, const std::string& name) {
  if (!schema.contains("required") || !schema["required"].is_array()) return false;
  for (const Json& one : schema["required"])
    if (one == Json(name)) return true;
  return false;
}

std::string list_type(const Json& schema) {
  const std::string null = is_true(schema, "nullable") ? " | null" : "";
  if (!schema.contains("items") || !schema["items"].is_object()) return "any[]" + null;
  const std::string inner = type_of(schema["items"]);
  const bool is_simple = inner.size() <= kTypeMax && inner != "object | object";
  return (is_simple ? inner : "any") + "[]" + null;
}

std::string object_type(const Json& schema) {
  if (!schema.contains("properties") || !schema["properties"].is_object() ||
      schema["properties"].empty())
    return "object";
  std::string out = "{\n";
  for (const auto& [name, one] : schema["properties"].items()) {
    if (out.size() > 2) out += ", ";
    // The template's own white space.
    out += name + (is_required(schema, name) ? "" : "?") + ": \n                " + type_of(one);
  }
  return out + "}";
}

std::string joined(const Json& list, const std::string& between) {
  std::string out;
  for (const Json& one : list) out += (out.empty() ? "" : between) + bare_text(one);
  return out;
}

std::string type_of(const Json& schema) {
  if (!schema.is_object()) return "any";
  if (schema.contains("type") && schema["type"].is_array() && !schema["type"].empty())
    return joined(schema["type"], " | ");
  const std::string type = text_of(schema, "type");
  if (type == "array") return list_type(schema);
  if (type == "string" && schema.contains("enum") && schema["enum"].is_array())
    return "\"" + joined(schema["enum"], "\" | \"") + "\"";
  if (type == "string") return is_true(schema, "nullable") ? "string | null" : "string";
  if (type == "number" || type == "integer") return "number";
  if (type == "boolean") return "boolean";
  return type == "object" ? object_type(schema) : "any";
}

std::string parameter(const std::string& name, const Json& one, const Json& schema) {
  std::string out;
  const std::string description = one.is_object() ? text_of(one, "description") : "";
  if (!description.empty()) out += "// " + description + "\n";
  out += name + (is_required(schema, name) ? "" : "?") + ": " + type_of(one);
  if (one.is_object() && one.contains("default"))
    out += ", // default: " +
           (one.contains("enum") ? bare_text(one["default"]) : spaced_json(one["default"]));
  return out + ",\n";
}

std::string tool_type(const Tool& tool) {
  const std::string head = "// " + tool.description + "\ntype " + tool.name + " = ";
  const Json schema = Json::parse(tool.parameters, nullptr, false);
  if (!schema.is_object() || !schema.contains("properties") || !schema["properties"].is_object() ||
      schema["properties"].empty())
    return head + "() => any;\n\n";
  std::string out = head + "(_: {\n";
  for (const auto& [name, one] : schema["properties"].items()) out += parameter(name, one, schema);
  return out + "}) => any;\n\n";
}

// --- what is told

MarkedText system_text(std::string_view text, std::span<const Tool> tools) {
  MarkedText out;
  const std::string_view opening = turn_format("harmony").opening;
  out.mark(opening.substr(0, opening.size() - kEnd.size()));
  out.mark("\nCalls to these tools must go to the commentary channel: 'functions'.").mark(kEnd);
  out.mark("<|start|>developer<|message|>");
  if (!text.empty()) out.mark("# Instructions\n\n").add(text).mark("\n\n");
  out.mark("# Tools\n\n## functions\n\nnamespace functions {\n\n");
  for (const Tool& tool : tools) out.add(tool_type(tool));
  out.mark("} // namespace functions").mark(kEnd);
  out.marks.is_turn = true;
  return out;
}

// Behind "assistant", which the template writes.
MarkedText answer(std::string_view text, std::span<const ToolCall> calls) {
  MarkedText out;
  if (!text.empty())
    out.mark("<|channel|>analysis<|message|>").add(text).mark("<|end|><|start|>assistant");
  for (const ToolCall& call : calls) {
    out.mark(&call == calls.data() ? "" : "<|start|>assistant").mark(kBegin).add(call.name);
    out.mark(" <|constrain|>json<|message|>").add(spaced_json(arguments_of(call))).mark(kCallEnd);
  }
  return out;
}

MarkedText results(std::span<const ToolResult> all) {
  MarkedText out;
  for (const ToolResult& one : all) {
    out.mark("<|start|>functions.").add(one.name);
    out.mark(" to=assistant<|channel|>commentary<|message|>").add(one.text).mark(kEnd);
  }
  out.marks.is_turn = true;
  return out;
}

// --- what is read

std::size_t end_of(std::string_view text) {
  return end_behind_json(text, kNext);
}

bool read(std::string_view text, std::span<const Tool>, std::vector<ToolCall>& calls) {
  for (const std::string_view end : {kNext, kCallEnd})
    if (text.ends_with(end)) text.remove_suffix(end.size());
  constexpr std::string_view kMessage = "<|message|>";
  const std::size_t at = text.find(kMessage);
  if (at == std::string_view::npos) return false;
  const Json arguments = read_json(text.substr(at + kMessage.size()));
  if (arguments.is_discarded()) return false;
  calls.push_back({.id = {},
                   .name = std::string(text.substr(0, text.find_first_of(" <"))),
                   .arguments = compact_json(arguments)});
  return true;
}

// --- what may be said

Result<Node> calls(CallGrammar& grammar) {
  GrammarBuilder& b = grammar.builder;
  std::vector<Node> ways;
  for (std::size_t i = 0; i < grammar.tools.size(); ++i) {
    const Tool& tool = grammar.tools[i];
    const Result<Node> arguments =
        add_schema(schema_of(tool), "tool-" + std::to_string(i), b, grammar.json);
    if (!arguments.ok()) return of_tool(tool, arguments.error());
    ways.push_back(b.sequence({b.text(tool.name + " "), grammar.mark(kConstrain),
                               b.text("json<|message|>"), *arguments}));
  }
  return b.sequence({b.any_of(std::move(ways)), grammar.mark(kCallEnd)});
}

}  // namespace

extern const ToolForm form_harmony{.name = "harmony",
                                   .begin = kBegin,
                                   .text_mark = "<|channel|>final<|message|>",
                                   .talks_first = false,
                                   .system = system_text,
                                   .answer = answer,
                                   .results = results,
                                   .end_of = end_of,
                                   .read = read,
                                   .calls = calls};

}  // namespace satchel::runtime
