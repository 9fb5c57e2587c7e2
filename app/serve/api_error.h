// ApiError: what a request is refused with, in the words of the interface that was asked.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "app/cli/console.h"
#include "app/serve/http/http.h"
#include "kernels/base/result.h"

namespace satchel::serve {

using app::Json;

struct ApiError {
  int status = 400;
  std::string code;     // stable, for programs: "context_length_exceeded"
  std::string param;    // the field that is at fault, "messages[2].content"; may be ""
  std::string message;  // for people
};

// A field that is wrong.
ApiError bad_field(std::string param, std::string message, std::string code = "invalid_value");
// The code is the error's own in lower case, but where OpenAI's clients know another.
ApiError to_api(const Error& error);

enum class Dialect { openai, anthropic };
Dialect dialect_of(std::string_view path);
Json to_json(const ApiError& error, Dialect dialect);
HttpResponse to_response(const ApiError& error, Dialect dialect);

HttpResponse to_response(const Json& document);
// One line of JSON; what is not UTF-8 is replaced.
std::string dump(const Json& document);

}  // namespace satchel::serve
