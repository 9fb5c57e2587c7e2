#include "runtime/grammar/tool_grammar.h"

#include <utility>
#include <vector>

#include "runtime/grammar/json_rules.h"
#include "runtime/grammar/json_schema.h"

namespace satchel::runtime {
namespace {

using Node = GrammarBuilder::Node;
using Calls = ToolAnswers::Calls;

constexpr std::string_view kNoParameters =
    R"({"type":"object","properties":{},"additionalProperties":false})";

// What stands behind the opening of a call, its end included.
Result<Node> rest_of_call(std::span<const ToolSchema> tools, GrammarBuilder& builder,
                          JsonRules& rules) {
  std::vector<Node> ways;
  for (std::size_t i = 0; i < tools.size(); ++i) {
    const ToolSchema& tool = tools[i];
    const Result<Node> arguments =
        add_schema(tool.parameters.empty() ? kNoParameters : tool.parameters,
                   "tool-" + std::to_string(i), builder, rules);
    if (!arguments.ok())
      return Error{arguments.error().kind, arguments.error().code,
                   "Tool \"" + tool.name + "\": " + arguments.error().message};
    ways.push_back(builder.sequence(
        {builder.text("{\"name\": \"" + tool.name + "\", \"arguments\": "), *arguments}));
  }
  return builder.sequence({builder.text("\n"), builder.any_of(std::move(ways)),
                           builder.text("}\n" + std::string(kCallEnd))});
}

}  // namespace

Result<Grammar> grammar_of_tools(const ToolAnswers& answers) {
  GrammarBuilder builder;
  JsonRules rules(builder);
  Node text = builder.without(kCallBegin);
  if (!answers.text_schema.empty()) {
    SATCHEL_TRY_ASSIGN(text, add_schema(answers.text_schema, "text", builder, rules));
  }
  if (answers.calls == Calls::none || answers.tools.empty()) {
    builder.define("root", text);
    return builder.compile("root");
  }
  SATCHEL_TRY_ASSIGN(const Node rest, rest_of_call(answers.tools, builder, rules));
  builder.define("call", rest);
  const Node call = builder.rule("call"), begin = builder.text(kCallBegin);
  const Node more = builder.sequence({builder.text("\n"), begin, call});
  const Node calls = answers.is_one ? call : builder.sequence({call, builder.repeat(more, 0)});
  if (answers.calls == Calls::must)
    builder.define("root", builder.sequence({begin, calls}));
  else if (answers.text_schema.empty())
    builder.define("root",
                   builder.any_of({text, builder.sequence({builder.until(kCallBegin), calls})}));
  else
    builder.define("root", builder.any_of({text, builder.sequence({begin, calls})}));
  return builder.compile("root");
}

}  // namespace satchel::runtime
