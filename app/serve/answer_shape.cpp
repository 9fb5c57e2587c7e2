#include "app/serve/answer_shape.h"

#include <memory>
#include <utility>
#include <vector>

#include "app/serve/chat_request.h"
#include "runtime/grammar/gbnf.h"
#include "runtime/grammar/json_schema.h"

namespace satchel::serve {
namespace {

using Shape = AnswerShape;

Result<runtime::Grammar> grammar_of(const ChatRequest& request) {
  const Shape& shape = request.shape;
  const std::string schema =
      shape.kind == Shape::Kind::json_object ? R"({"type":"object"})" : shape.text;
  if (request.tools.empty())
    return shape.kind == Shape::Kind::grammar ? runtime::parse_gbnf(shape.text)
                                              : runtime::grammar_of_schema(schema);
  const ToolChoice& choice = request.tool_choice;
  std::vector<Tool> tools;
  for (const Tool& tool : request.tools)
    if (choice.name.empty() || choice.name == tool.name) tools.push_back(tool);
  return runtime::grammar_of_tools({.form = *request.form,
                                    .tools = tools,
                                    .calls = choice.calls,
                                    .is_one = choice.is_one,
                                    .text_schema = schema});
}

}  // namespace

void read_format(const Json& format, const std::string& path, Fields& fields, AnswerShape& shape) {
  Fields outer(format, path);
  const std::string type = outer.text("type");
  // Chat completions wrap the schema once more.
  const Json* const wrapped = type == "json_schema" ? outer.find("json_schema") : nullptr;
  Fields inner(wrapped != nullptr ? *wrapped : format,
               wrapped != nullptr ? outer.path_of("json_schema") : path);
  for (const char* name : {"name", "description", "strict"}) inner.find(name);
  const Json* const schema = inner.find("schema");
  shape.param = path;
  if (type == "text" || type.empty()) {
    shape.kind = Shape::Kind::any;
  } else if (type == "json_object" && schema == nullptr) {
    shape.kind = Shape::Kind::json_object;
  } else if ((type == "json_schema" || type == "json_object") && schema != nullptr) {
    shape.kind = Shape::Kind::json_schema;
    shape.text = dump(*schema);
    shape.param = inner.path_of("schema");
  } else if (type == "json_schema") {
    inner.fail("schema", "is required.");
  } else {
    outer.fail("type", "must be text, json_object or json_schema.", "unsupported");
  }
  if (outer.error()) fields.fail(*outer.error());
  if (inner.error()) fields.fail(*inner.error());
}

void read_grammar(Fields& fields, AnswerShape& shape) {
  std::string grammar = fields.text("grammar", runtime::kGbnfBytesMax);
  if (grammar.empty()) return;
  if (shape.kind != Shape::Kind::any)
    return fields.fail("grammar", "and a format of the answer exclude one another.");
  shape = {.kind = Shape::Kind::grammar, .text = std::move(grammar), .param = "grammar"};
}

std::optional<ApiError> compile_shape(ChatRequest& request) {
  const Shape& shape = request.shape;
  if (shape.kind == Shape::Kind::any && request.tools.empty()) return std::nullopt;
  if (shape.kind == Shape::Kind::grammar && !request.tools.empty())
    return bad_field("grammar", "A grammar and tools exclude one another.");
  Result<runtime::Grammar> made = grammar_of(request);
  if (!made.ok()) {
    ApiError error = to_api(made.error());
    error.param = shape.param.empty() || error.message.starts_with("Tool ") ? "tools" : shape.param;
    return error;
  }
  request.sampling.grammar = std::make_shared<const runtime::Grammar>(std::move(made).value());
  return std::nullopt;
}

}  // namespace satchel::serve
