// Calls as a list in Python's spelling.
//   form    <|tool_call_start|>[NAME(p="text", n=1), …]<|tool_call_end|>; results are turns of the
//           role tool
//   differs a string in a call has Python's escapes, which the template leaves out
//   source  the templates of LFM2 ("lfm2": the list of tools and each result have marks) and
//           LFM2.5 ("lfm2.5")
#include <utility>

#include "runtime/grammar/json_schema.h"
#include "runtime/tools/bare_values.h"
#include "runtime/tools/python_values.h"
#include "runtime/tools/tool_text.h"

namespace satchel::runtime {
namespace {

using Json = OrderedJson;
using Node = GrammarBuilder::Node;

constexpr std::string_view kBegin = "<|tool_call_start|>", kEnd = "<|tool_call_end|>";

struct Marks {
  std::string_view list_begin, list_end, result_begin, result_end;
};

template <const Marks& kMarks>
MarkedText system_text(std::string_view text, std::span<const Tool> tools) {
  MarkedText out;
  out.add(text).add(text.empty() ? "" : "\n").add("List of tools: ").mark(kMarks.list_begin);
  out.add("[");
  for (const Tool& tool : tools)
    out.add(&tool == tools.data() ? "" : ", ").add(spaced_json(tool_json(tool)));
  return out.add("]").mark(kMarks.list_end);
}

MarkedText answer(std::string_view text, std::span<const ToolCall> calls) {
  MarkedText out;
  out.add(text).mark(kBegin).add("[");
  for (const ToolCall& call : calls) {
    out.add(&call == calls.data() ? "" : ", ").add(call.name).add("(");
    const Json arguments = arguments_of(call);
    bool is_first = true;
    if (arguments.is_object())
      for (const auto& [name, value] : arguments.items())
        out.add(std::exchange(is_first, false) ? "" : ", ").add(name + "=" + python_literal(value));
    out.add(")");
  }
  return out.add("]").mark(kEnd);
}

template <const Marks& kMarks>
MarkedText results(std::span<const ToolResult> all) {
  MarkedText out;
  for (const ToolResult& one : all)
    out.mark("<|im_start|>tool\n")
        .mark(kMarks.result_begin)
        .add(one.text)
        .mark(kMarks.result_end)
        .mark("<|im_end|>\n");
  out.marks.is_turn = true;
  return out;
}

std::size_t end_of(std::string_view text) {
  return end_behind_json(text, kEnd, "\"'");
}

bool read(std::string_view text, std::span<const Tool>, std::vector<ToolCall>& calls) {
  if (!text.ends_with(kEnd)) return false;
  text.remove_suffix(kEnd.size());
  return read_python_calls(text, calls);
}

bool is_identifier(std::string_view name) {
  return name.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") ==
         std::string_view::npos;
}

// Rules for what may follow each place, as JsonRules::object() has them.
Result<Node> arguments(const Tool& tool, const std::string& rule_name, JsonRules& values,
                       GrammarBuilder& b) {
  SATCHEL_TRY_ASSIGN(const std::vector<Parameter> all, checked_parameters(tool));
  Node after = b.text(""), first = after;
  for (std::size_t i = all.size(); i-- > 0;) {
    if (!is_identifier(all[i].name))
      return Error{ErrorKind::unsupported, "SCHEMA",
                   "In the schema at #/properties: this model's calls name parameters by letters, "
                   "digits and \"_\" only."};
    SATCHEL_TRY_ASSIGN(const Node value, add_schema(schema_of(tool), rule_name, b, values,
                                                    "#/properties/" + all[i].name));
    const Node one = b.sequence({b.text(all[i].name + "="), value});
    std::vector<Node> with_some = {b.sequence({b.text(", "), one, after})};
    std::vector<Node> with_none = {b.sequence({one, after})};
    if (!all[i].is_required) {
      with_some.push_back(after);
      with_none.push_back(first);
    }
    const std::string place = rule_name + "-" + std::to_string(i);
    b.define(place, b.any_of(std::move(with_some)));
    b.define(place + "-first", b.any_of(std::move(with_none)));
    after = b.rule(place);
    first = b.rule(place + "-first");
  }
  return first;
}

Result<Node> calls(CallGrammar& grammar) {
  GrammarBuilder& b = grammar.builder;
  JsonRules values(b, {.name = "python", .yes = "True", .no = "False", .none = "None"});
  std::vector<Node> ways;
  for (std::size_t i = 0; i < grammar.tools.size(); ++i) {
    const Tool& tool = grammar.tools[i];
    const Result<Node> all = arguments(tool, "tool-" + std::to_string(i), values, b);
    if (!all.ok()) return of_tool(tool, all.error());
    ways.push_back(b.sequence({b.text(tool.name + "("), *all, b.text(")")}));
  }
  const Node all = grammar.list(b.any_of(std::move(ways)), b.text(", "));
  return b.sequence({b.text("["), all, b.text("]"), grammar.mark(kEnd)});
}

constexpr Marks kLfm2{.list_begin = "<|tool_list_start|>",
                      .list_end = "<|tool_list_end|>",
                      .result_begin = "<|tool_response_start|>",
                      .result_end = "<|tool_response_end|>"};
constexpr Marks kNoMarks{};

}  // namespace

extern const ToolForm form_lfm2{.name = "lfm2",
                                .begin = kBegin,
                                .system = system_text<kLfm2>,
                                .answer = answer,
                                .results = results<kLfm2>,
                                .end_of = end_of,
                                .read = read,
                                .calls = calls};
extern const ToolForm form_lfm2_5{.name = "lfm2.5",
                                  .begin = kBegin,
                                  .system = system_text<kNoMarks>,
                                  .answer = answer,
                                  .results = results<kNoMarks>,
                                  .end_of = end_of,
                                  .read = read,
                                  .calls = calls};

}  // namespace satchel::runtime
