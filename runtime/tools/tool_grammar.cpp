#include "runtime/tools/tool_grammar.h"

#include <utility>

#include "runtime/grammar/json_rules.h"
#include "runtime/grammar/json_schema.h"

namespace satchel::runtime {
namespace {

using Node = GrammarBuilder::Node;
using Calls = ToolAnswers::Calls;

Result<Grammar> compiled(GrammarBuilder& builder, const ToolForm& form, Node root) {
  builder.define("root", root);
  SATCHEL_TRY_ASSIGN(Grammar grammar, builder.compile("root"));
  if (!form.text_mark.empty()) grammar.write_answer_mark();
  return grammar;
}

}  // namespace

Result<Grammar> grammar_of_tools(const ToolAnswers& answers) {
  const ToolForm& form = answers.form;
  GrammarBuilder builder;
  JsonRules rules(builder);
  Node text = builder.without(form.begin);
  if (!answers.text_schema.empty()) {
    SATCHEL_TRY_ASSIGN(text, add_schema(answers.text_schema, "text", builder, rules));
  }
  if (!form.text_mark.empty()) text = builder.sequence({builder.text(form.text_mark), text});
  if (answers.calls == Calls::none || answers.tools.empty()) return compiled(builder, form, text);
  CallGrammar grammar{answers.tools, answers.is_one, builder, rules};
  SATCHEL_TRY_ASSIGN(const Node calls, form.calls(grammar));
  const Node begin = grammar.mark(form.begin);
  if (answers.calls == Calls::must)
    return compiled(builder, form, builder.sequence({begin, calls}));
  const bool talks_first = answers.text_schema.empty() && form.talks_first;
  const Node before = talks_first ? builder.until(form.begin) : begin;
  return compiled(builder, form, builder.any_of({text, builder.sequence({before, calls})}));
}

}  // namespace satchel::runtime
