#include "app/serve/api_error.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace satchel::serve {
namespace {

const char* openai_type(int status) {
  if (status == 401) return "authentication_error";
  if (status == 403) return "permission_error";
  if (status == 429) return "rate_limit_error";
  return status < 500 ? "invalid_request_error" : "server_error";
}

const char* anthropic_type(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 503:
      return "overloaded_error";
    default:
      return status < 500 ? "invalid_request_error" : "api_error";
  }
}

int status_of(const Error& error) {
  if (error.code == "BUSY") return 429;
  switch (error.kind) {
    case ErrorKind::invalid:
    case ErrorKind::unsupported:
    case ErrorKind::out_of_memory:  // the same request would fail again: not for clients to retry
      return 400;
    case ErrorKind::not_found:
      return 404;
    case ErrorKind::device_lost:
      return 503;
    case ErrorKind::cancelled:
      return 499;
    case ErrorKind::storage:
      return 507;
    case ErrorKind::corrupt:
    case ErrorKind::internal:
      return 500;
  }
  return 500;
}

}  // namespace

ApiError bad_field(std::string param, std::string message, std::string code) {
  return {400, std::move(code), std::move(param), std::move(message)};
}

ApiError to_api(const Error& error) {
  std::string code = error.code;
  std::ranges::transform(code, code.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (error.code == "CONTEXT_FULL") code = "context_length_exceeded";
  return {status_of(error), std::move(code), error.code == "CONTEXT_FULL" ? "messages" : "",
          error.message};
}

Dialect dialect_of(std::string_view path) {
  return path.starts_with("/v1/messages") ? Dialect::anthropic : Dialect::openai;
}

Json to_json(const ApiError& error, Dialect dialect) {
  if (dialect == Dialect::anthropic)
    return Json{{"type", "error"},
                {"error",
                 {{"type", anthropic_type(error.status)},
                  {"message", (error.param.empty() ? "" : error.param + ": ") + error.message},
                  {"code", error.code}}}};
  return Json{{"error",
               {{"message", error.message},
                {"type", openai_type(error.status)},
                {"param", error.param.empty() ? Json() : Json(error.param)},
                {"code", error.code}}}};
}

HttpResponse to_response(const ApiError& error, Dialect dialect) {
  HttpResponse response{.status = error.status, .body = dump(to_json(error, dialect))};
  if (error.status == 429 || error.status == 503) response.headers.emplace_back("Retry-After", "1");
  if (error.status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

HttpResponse to_response(const Json& document) {
  return {.body = dump(document)};
}

std::string dump(const Json& document) {
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace satchel::serve
