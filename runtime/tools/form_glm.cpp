// Calls as pairs of keys and values; strings stand bare, other values are JSON.
//   form    <tool_call>NAME\n<arg_key>K</arg_key>\n<arg_value>V</arg_value>\n</tool_call>; results
//           are a turn of their own, <|observation|>. The tools are a system turn of their own
//   source  the templates of GLM-4.5 and 4.6 ("glm"), and of GLM-4.7 ("glm-4.7": no line breaks)
#include <utility>

#include "runtime/tools/bare_values.h"
#include "runtime/tools/tool_text.h"

namespace satchel::runtime {
namespace {

using Json = OrderedJson;
using Node = GrammarBuilder::Node;

constexpr std::string_view kBegin = "<tool_call>", kEnd = "</tool_call>";
constexpr std::string_view kKey = "<arg_key>", kKeyEnd = "</arg_key>";
constexpr std::string_view kValue = "<arg_value>", kValueEnd = "</arg_value>";
constexpr std::string_view kAboutTools =
    "# Tools\n\nYou may call one or more functions to assist with the user query.\n\nYou are "
    "provided with function signatures within <tools></tools> XML tags:\n<tools>\n";
constexpr std::string_view kHowToCall =
    "</tools>\n\nFor each function call, output the function name and arguments within the "
    "following XML format:\n<tool_call>{function-name}";

constexpr std::string_view kLine = "\n", kNone = "";

template <const std::string_view& kBetween>
MarkedText system_text(std::string_view text, std::span<const Tool> tools) {
  const std::string line(kBetween);
  MarkedText out;
  out.mark("[gMASK]<sop><|system|>\n").add(kAboutTools);
  for (const Tool& tool : tools) out.add(spaced_json(tool_json(tool)) + "\n");
  out.add(kHowToCall);
  for (const char* n : {"1", "2"})
    out.add(line + "<arg_key>{arg-key-" + n + "}</arg_key>" + line + "<arg_value>{arg-value-" + n +
            "}</arg_value>");
  out.add(line + "..." + line + "</tool_call>");
  if (!text.empty()) out.mark("<|system|>" + line).add(text);
  out.marks.is_turn = true;
  return out;
}

template <const std::string_view& kBetween>
MarkedText answer(std::string_view text, std::span<const ToolCall> calls) {
  MarkedText out;
  text = trimmed(text);
  out.add(text);
  for (const ToolCall& call : calls) {
    out.add(out.text.empty() ? "" : kBetween).mark(kBegin).add(call.name).add(kBetween);
    const Json arguments = arguments_of(call);
    if (arguments.is_object())
      for (const auto& [name, value] : arguments.items())
        out.mark(kKey)
            .add(name)
            .mark(kKeyEnd)
            .add(kBetween)
            .mark(kValue)
            .add(bare_text(value))
            .mark(kValueEnd)
            .add(kBetween);
    out.mark(kEnd);
  }
  return out;
}

template <const std::string_view& kBetween>
MarkedText results(std::span<const ToolResult> all) {
  MarkedText out;
  out.mark("<|observation|>");
  for (const ToolResult& one : all)
    out.add(kBetween)
        .mark("<tool_response>")
        .add(kBetween)
        .add(one.text)
        .add(kBetween)
        .mark("</tool_response>");
  out.marks.is_turn = true;
  return out;
}

// Takes what stands between two marks from the front.
bool take(std::string_view& text, std::string_view begin, std::string_view end,
          std::string_view& inside) {
  const std::string_view rest = text.substr(std::min(text.find_first_not_of(kSpace), text.size()));
  if (!rest.starts_with(begin)) return false;
  const std::size_t at = rest.find(end);
  if (at == std::string_view::npos) return false;
  inside = rest.substr(begin.size(), at - begin.size());
  text = rest.substr(at + end.size());
  return true;
}

std::string_view take_name(std::string_view& text) {
  const std::size_t n = std::min(text.find('<'), text.size());
  const std::string_view name = trimmed(text.substr(0, n));
  text.remove_prefix(n);
  return name;
}

std::size_t end_of(std::string_view text) {
  std::string_view rest = text, inside;
  take_name(rest);
  while (take(rest, kKey, kKeyEnd, inside))
    if (!take(rest, kValue, kValueEnd, inside)) return std::string_view::npos;
  // A key that goes on.
  if (trimmed(rest).starts_with(kKey)) return std::string_view::npos;
  const std::size_t end = rest.find(kEnd);
  return end == std::string_view::npos ? end : text.size() - rest.size() + end + kEnd.size();
}

bool read(std::string_view text, std::span<const Tool> tools, std::vector<ToolCall>& calls) {
  const std::string name(take_name(text));
  if (name.empty() || name.find_first_of(kSpace) != std::string::npos) return false;
  const std::vector<Parameter> known = known_parameters(tools, name);
  Json arguments = Json::object();
  std::string_view key, value;
  while (take(text, kKey, kKeyEnd, key)) {
    if (!take(text, kValue, kValueEnd, value)) return false;
    arguments[std::string(key)] = read_bare(value, find_parameter(known, key));
  }
  if (trimmed(text) != kEnd) return false;
  calls.push_back({.id = {}, .name = name, .arguments = compact_json(arguments)});
  return true;
}

template <const std::string_view& kBetween>
Result<Node> parameters(const Tool& tool, const std::string& rule_name, BareValues& values,
                        const CallGrammar& grammar) {
  GrammarBuilder& b = grammar.builder;
  SATCHEL_TRY_ASSIGN(const std::vector<Parameter> all, checked_parameters(tool));
  std::vector<Node> parts;
  for (const Parameter& one : all) {
    SATCHEL_TRY_ASSIGN(const Node value, values.value(tool, one, rule_name));
    const Node whole =
        b.sequence({grammar.mark(kKey), b.text(one.name), grammar.mark(kKeyEnd), b.text(kBetween),
                    grammar.mark(kValue), value, b.text(kBetween)});
    parts.push_back(one.is_required ? whole : b.maybe(whole));
  }
  return b.sequence(std::move(parts));
}

template <const std::string_view& kBetween>
Result<Node> calls(CallGrammar& grammar) {
  GrammarBuilder& b = grammar.builder;
  BareValues values(b, kValueEnd);
  std::vector<Node> ways;
  for (std::size_t i = 0; i < grammar.tools.size(); ++i) {
    const Tool& tool = grammar.tools[i];
    const Result<Node> all =
        parameters<kBetween>(tool, "tool-" + std::to_string(i), values, grammar);
    if (!all.ok()) return of_tool(tool, all.error());
    ways.push_back(b.sequence({b.text(tool.name), b.text(kBetween), *all}));
  }
  return grammar.list(b.sequence({b.any_of(std::move(ways)), grammar.mark(kEnd)}),
                      b.sequence({b.text(kBetween), grammar.mark(kBegin)}));
}

}  // namespace

extern const ToolForm form_glm{.name = "glm",
                               .begin = kBegin,
                               .system = system_text<kLine>,
                               .answer = answer<kLine>,
                               .results = results<kLine>,
                               .end_of = end_of,
                               .read = read,
                               .calls = calls<kLine>};
extern const ToolForm form_glm_47{.name = "glm-4.7",
                                  .begin = kBegin,
                                  .system = system_text<kNone>,
                                  .answer = answer<kNone>,
                                  .results = results<kNone>,
                                  .end_of = end_of,
                                  .read = read,
                                  .calls = calls<kNone>};

}  // namespace satchel::runtime
