// Calls as a list of JSON objects.
//   form    <TOOLCALL>[{"name": "NAME", "arguments": {…}}, …]</TOOLCALL>; results as a list
//           <TOOL_RESPONSE>[…, …]</TOOL_RESPONSE> in a user's turn
//   source  the template of Nemotron Nano v2
#include <utility>

#include "runtime/tools/tool_text.h"

namespace satchel::runtime {
namespace {

using Json = OrderedJson;
using Node = GrammarBuilder::Node;

constexpr std::string_view kBegin = "<TOOLCALL>", kEnd = "</TOOLCALL>";

MarkedText system_text(std::string_view text, std::span<const Tool> tools) {
  MarkedText out;
  text = trimmed(text);
  out.add(text).add(text.empty() ? "" : "\n\n");
  out.add("You can use the following tools to assist the user if required:\n<AVAILABLE_TOOLS>[");
  for (const Tool& tool : tools)
    out.add(&tool == tools.data() ? "" : ", ").add(spaced_json(tool_json(tool)["function"]));
  return out.add(
      "]</AVAILABLE_TOOLS>\n\nIf you decide to call any tool(s), use the following format:\n"
      "<TOOLCALL>[{{\"name\": \"tool_name1\", \"arguments\": \"tool_args1\"}}, {{\"name\": "
      "\"tool_name2\", \"arguments\": \"tool_args2\"}}]</TOOLCALL>\n\nThe user will execute "
      "tool-calls and return responses from tool(s) in this format:\n<TOOL_RESPONSE>"
      "[{{\"tool_response1\"}}, {{\"tool_response2\"}}]</TOOL_RESPONSE>\n\nBased on the tool "
      "responses, you can call additional tools if needed, correct tool calls if any errors are "
      "found, or just respond to the user.");
}

MarkedText answer(std::string_view text, std::span<const ToolCall> calls) {
  MarkedText out;
  text = trimmed(text);
  out.add(text).add(text.empty() ? "" : "\n").mark(kBegin).add("[");
  for (const ToolCall& call : calls) {
    out.add(&call == calls.data() ? "" : ", ").add("{\"name\": " + spaced_json(call.name));
    out.add(", \"arguments\": " + spaced_json(arguments_of(call)) + "}");
  }
  return out.add("]").mark(kEnd);
}

MarkedText results(std::span<const ToolResult> all) {
  MarkedText out;
  out.mark("<SPECIAL_11>User\n").add("<TOOL_RESPONSE>[");
  for (const ToolResult& one : all) out.add(&one == all.data() ? "" : ", ").add(one.text);
  out.add("]</TOOL_RESPONSE>");
  out.marks.is_turn = true;
  return out;
}

std::size_t end_of(std::string_view text) {
  return end_behind_json(text, kEnd);
}

bool read(std::string_view text, std::span<const Tool>, std::vector<ToolCall>& calls) {
  if (!text.ends_with(kEnd)) return false;
  text.remove_suffix(kEnd.size());
  const Json said = read_json(text);
  if (!said.is_array() || said.empty()) return false;
  std::vector<ToolCall> read;
  for (const Json& one : said)
    if (!read_json_call(one, read)) return false;
  for (ToolCall& call : read) calls.push_back(std::move(call));
  return true;
}

Result<Node> calls(CallGrammar& grammar) {
  GrammarBuilder& b = grammar.builder;
  SATCHEL_TRY_ASSIGN(const Node call, json_call(grammar));
  const Node all = grammar.list(call, b.text(", "));
  return b.sequence({b.text("["), all, b.text("]"), grammar.mark(kEnd)});
}

}  // namespace

extern const ToolForm form_nemotron{.name = "nemotron",
                                    .begin = kBegin,
                                    .system = system_text,
                                    .answer = answer,
                                    .results = results,
                                    .end_of = end_of,
                                    .read = read,
                                    .calls = calls};

}  // namespace satchel::runtime
