// What an answer must be: a JSON schema, any JSON object, or a grammar.
#pragma once

#include <optional>
#include <string>

#include "app/serve/api_error.h"
#include "app/serve/fields.h"

namespace satchel::serve {

struct AnswerShape {
  enum class Kind { any, json_object, json_schema, grammar };
  Kind kind = Kind::any;
  std::string text;   // of the schema or the grammar
  std::string param;  // the field that asks for it, for messages
};

// OpenAI's response_format, and text.format of responses; Anthropic's output_config.format.
void read_format(const Json& format, const std::string& path, Fields& fields, AnswerShape& shape);
// llama.cpp's field "grammar".
void read_grammar(Fields& fields, AnswerShape& shape);

struct ChatRequest;
// Compiles what the request asks for, its tools included, into its sampling.
std::optional<ApiError> compile_shape(ChatRequest& request);

}  // namespace satchel::serve
