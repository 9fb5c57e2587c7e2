// ToolForm: how models of one family are told of tools, call them, and are told what came of it.
// Each was trained on one form, and calls reliably in that alone.
//   safe  what people, models and tools said is never marked (MarkedText): no name, argument or
//         result can become a control token
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"
#include "runtime/grammar/grammar_builder.h"
#include "runtime/grammar/json_rules.h"
#include "runtime/tokenizer/marked_text.h"
#include "runtime/tokenizer/tool_marks.h"

namespace satchel::runtime {

struct Tool {
  std::string name, description;  // of letters, digits, "_" and "-"
  std::string parameters = {};    // a JSON schema; "": it takes none
};

struct ToolCall {
  std::string id, name;
  std::string arguments;  // JSON
};

struct ToolResult {
  std::string call_id, text;
  std::string name = {};  // of the tool
};

struct CallGrammar {
  std::span<const Tool> tools;
  bool is_one = false;  // call at most
  GrammarBuilder& builder;
  JsonRules& json;

  // What a form writes as a token of its own: as that or, where a vocabulary lacks it, as text.
  GrammarBuilder::Node mark(std::string_view token) const {
    return builder.any_of({builder.text(token), builder.text(kMarkByte + std::string(token))});
  }
  // As many calls as may be made, one at least; between: from the end of one to the next.
  GrammarBuilder::Node list(GrammarBuilder::Node call, GrammarBuilder::Node between) {
    builder.define("call", call);
    const GrammarBuilder::Node one = builder.rule("call");
    const GrammarBuilder::Node more = builder.repeat(builder.sequence({between, one}), 0);
    return is_one ? one : builder.sequence({one, more});
  }
};

struct ToolForm {
  std::string_view name;   // as a template names it (runtime/tokenizer/tool_marks.h)
  std::string_view begin;  // with which a call, or a list of them, begins in an answer
  // Before an answer that calls nothing, written by the grammar; "": nothing.
  std::string_view text_mark = {};
  bool talks_first = true;  // a text may stand before calls

  // The system text of a chat with these tools. text: the chat's own, may be ""
  MarkedText (*system)(std::string_view text, std::span<const Tool> tools);
  // An answer with calls, at least one. text: said before them, may be ""
  MarkedText (*answer)(std::string_view text, std::span<const ToolCall> calls);
  // What came of them.
  MarkedText (*results)(std::span<const ToolResult> results);
  // How many bytes of what stands behind `begin` belong to it, its end included; npos: it goes on.
  std::size_t (*end_of)(std::string_view text);
  // Adds the calls of these bytes; false: they are none. tools: where none is given the types of
  // values are guessed
  bool (*read)(std::string_view text, std::span<const Tool> tools, std::vector<ToolCall>& calls);
  // What stands behind the first `begin` of an answer, up to the end of its calls.
  Result<GrammarBuilder::Node> (*calls)(CallGrammar& grammar);
};

// All of them; the first is for models whose template has none.
std::span<const ToolForm* const> tool_forms();
// needs a name of one
const ToolForm& tool_form(std::string_view name);

}  // namespace satchel::runtime
