// Calls as JSON objects.
//   form    <tool_call>, {"name": "NAME", "arguments": {…}}, </tool_call>, each on its own line;
//           results as <tool_response> in a user's message
//   source  the templates of Hermes 2 Pro, Qwen 2.5 and Qwen 3
#include "runtime/tools/tool_text.h"

namespace satchel::runtime {
namespace {

using Node = GrammarBuilder::Node;

constexpr std::string_view kBegin = "<tool_call>", kEnd = "</tool_call>";

MarkedText system_text(std::string_view text, std::span<const Tool> tools) {
  MarkedText out;
  out.add(text).add(text.empty() ? "" : "\n\n");
  out.add(
      "# Tools\n\nYou may call one or more functions to assist with the user query.\n\nYou are "
      "provided with function signatures within <tools></tools> XML tags:\n<tools>");
  for (const Tool& tool : tools) out.add("\n" + spaced_json(tool_json(tool)));
  return out.add(
      "\n</tools>\n\nFor each function call, return a json object with function name and "
      "arguments within <tool_call></tool_call> XML tags:\n<tool_call>\n{\"name\": "
      "<function-name>, \"arguments\": <args-json-object>}\n</tool_call>");
}

MarkedText answer(std::string_view text, std::span<const ToolCall> calls) {
  MarkedText out;
  out.add(text);
  for (const ToolCall& call : calls) {
    out.add(out.text.empty() ? "" : "\n").mark(kBegin);
    out.add("\n{\"name\": " + spaced_json(call.name) + ", \"arguments\": ");
    out.add(spaced_json(arguments_of(call)) + "}\n").mark(kEnd);
  }
  return out;
}

MarkedText results(std::span<const ToolResult> all) {
  MarkedText out;
  for (const ToolResult& one : all) {
    out.add(out.text.empty() ? "" : "\n");
    out.add("<tool_response>\n").add(one.text).add("\n</tool_response>");
  }
  return out;
}

std::size_t end_of(std::string_view text) {
  return end_behind_json(text, kEnd);
}

bool read(std::string_view text, std::span<const Tool>, std::vector<ToolCall>& calls) {
  if (!text.ends_with(kEnd)) return false;
  text.remove_suffix(kEnd.size());
  return read_json_call(read_json(text), calls);
}

Result<Node> calls(CallGrammar& grammar) {
  GrammarBuilder& b = grammar.builder;
  SATCHEL_TRY_ASSIGN(const Node call, json_call(grammar));
  return grammar.list(b.sequence({b.text("\n"), call, b.text("\n"), grammar.mark(kEnd)}),
                      b.sequence({b.text("\n"), grammar.mark(kBegin)}));
}

}  // namespace

extern const ToolForm form_json{.name = "json",
                                .begin = kBegin,
                                .system = system_text,
                                .answer = answer,
                                .results = results,
                                .end_of = end_of,
                                .read = read,
                                .calls = calls};

}  // namespace satchel::runtime
