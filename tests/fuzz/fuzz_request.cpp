// Any bytes as a request: its headers through the guard, its body through the parser of one of the
// four interfaces; what is taken keeps the promises of ChatRequest.
//   input   1 byte: the interface, and how the server is set; 2 bytes: size of the headers; they, a
//           line each, the first "METHOD /path"; the body
#include <algorithm>
#include <array>
#include <list>
#include <string>
#include <string_view>
#include <utility>

#include "app/serve/chat_request.h"
#include "app/serve/guard.h"
#include "app/serve/response_ids.h"
#include "kernels/base/assert.h"
#include "mutate.h"
#include "target.h"
#include "two_texts.h"

namespace satchel::fuzz {
namespace {

using serve::ChatRequest;
using serve::GuardRules;
using serve::HttpRequest;

constexpr std::array kParsers = {serve::parse_chat, serve::parse_completion, serve::parse_response,
                                 serve::parse_messages};
constexpr std::uint8_t kHasToken = 4, kIsOpen = 8;  // bits of the first byte
constexpr std::string_view kToken = "0123456789abcdef", kOrigin = "https://example.org";

// That a response may follow.
const std::list<serve::KnownChat>& chats() {
  static const auto all = [] {
    std::list<serve::KnownChat> made(1);
    set_id(made.front(), "mine");
    made.front().system = "s";
    made.front().said = {{runtime::Role::user, "a"}, {runtime::Role::assistant, "b"}};
    return made;
  }();
  return all;
}
std::string id_in_chat() {
  ChatRequest request;
  request.system = "s";
  request.system_end = 1;
  request.messages = {chats().front().said.front()};
  return serve::ResponseIds::make("mine", request);
}

std::vector<Input> seeds() {
  const std::string local =
      "POST /v1/chat/completions\nhost: 127.0.0.1:8421\ncontent-type: application/json\n"
      "content-length: 20\n";
  const std::string open =
      "POST /v1/messages\nhost: [::1]:8421\norigin: https://example.org\nx-api-key: "
      "0123456789abcdef\ncontent-type: application/json; charset=utf-8\n";
  const std::string bearer =
      "GET /v1/models\nhost: mybox.lan:8421\nauthorization: Bearer 0123456789abcdef\n";
  return {
      input_of(0, local,
               R"({"messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":
          "text","text":"a"}]}],"temperature":1.5,"stop":["x","y"],"stream":true,"seed":-1,
          "stream_options":{"include_usage":true},"satchel":{"session":"me","recipe":"full"}})"),
      input_of(0, local,
               R"({"messages":[{"role":"user","content":"a"},{"role":"assistant","content":null,
          "tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{\"n\":1}"}}
          ]},{"role":"tool","tool_call_id":"c","content":"2"}],"tools":[{"type":"function",
          "function":{"name":"f","parameters":{"type":"object","properties":{"n":{"type":"integer"
          }}}}}],"tool_choice":{"type":"function","function":{"name":"f"}}})"),
      input_of(1, bearer, R"({"prompt":["a"],"max_tokens":3,"grammar":"root ::= \"a\" | [b-d]*"})"),
      input_of(2 | kHasToken, bearer,
               R"({"input":[{"role":"user","content":[{"type":"input_text","text":"a"}]},{"type":
          "function_call","call_id":"c","name":"f","arguments":"{}"},{"type":"function_call_output",
          "call_id":"c","output":"2"}],"instructions":"i","metadata":{"a":"b"},"store":false,
          "reasoning":{"effort":"none"},"text":{"format":{"type":"json_schema","name":"n","schema":
          {"enum":[1,"x"]}}}})"),
      input_of(
          2, local,
          R"({"input":"c","instructions":"i","previous_response_id":")" + id_in_chat() + "\"}"),
      input_of(3 | kHasToken | kIsOpen, open,
               R"({"max_tokens":9,"system":[{"type":"text","text":"s"}],"messages":[{"role":"user",
          "content":"a"},{"role":"assistant","content":[{"type":"thinking","thinking":"t"},{"type":
          "tool_use","id":"c","name":"f","input":{"n":1}}]},{"role":"user","content":[{"type":
          "tool_result","tool_use_id":"c","is_error":true,"content":"2"}]}],"thinking":{"type":
          "disabled"},"tools":[{"name":"f","input_schema":{"type":"object"}}],"tool_choice":{"type":
          "any","disable_parallel_tool_use":true},"stop_sequences":["x"]})"),
  };
}

// Made of what requests are made of.
Input generate(Rng& rng) {
  constexpr const char* kWords[] = {"{\"",
                                    "\":",
                                    "\",\"",
                                    "}",
                                    "[",
                                    "]",
                                    ",",
                                    "{",
                                    "\"",
                                    "role",
                                    "user",
                                    "assistant",
                                    "system",
                                    "tool",
                                    "content",
                                    "text",
                                    "type",
                                    "messages",
                                    "input",
                                    "prompt",
                                    "tools",
                                    "name",
                                    "function",
                                    "arguments",
                                    "parameters",
                                    "schema",
                                    "json_schema",
                                    "max_tokens",
                                    "tool_use",
                                    "tool_result",
                                    "input_text",
                                    "function_call",
                                    "stop",
                                    "satchel",
                                    "session",
                                    "metadata",
                                    "1",
                                    "-1",
                                    "1e999",
                                    "null",
                                    "true",
                                    "\\ud800",
                                    "<tool_call>",
                                    "</tool_call>",
                                    "host: ",
                                    "localhost",
                                    ":8421",
                                    "\n",
                                    "content-length: ",
                                    "authorization: bearer ",
                                    "99999999999999999999"};
  std::string text;
  for (std::size_t n = below(rng, 80); n > 0; --n) text += kWords[below(rng, std::size(kWords))];
  const std::size_t n_headers = below(rng, text.size() + 1);
  return input_of(static_cast<std::uint8_t>(below(rng, 16)), text.substr(0, n_headers),
                  text.substr(n_headers));
}

HttpRequest request_of(std::string_view headers) {
  HttpRequest request;
  const auto line = [&headers] {
    const std::size_t end = std::min(headers.find('\n'), headers.size());
    const std::string_view out = headers.substr(0, end);
    headers.remove_prefix(std::min(end + 1, headers.size()));
    return out;
  };
  const std::string_view first = line();
  const std::size_t space = std::min(first.find(' '), first.size());
  request.method = first.substr(0, space);
  request.path = first.substr(std::min(space + 1, first.size()));
  while (!headers.empty()) {
    const std::string_view one = line();
    const std::size_t colon = std::min(one.find(": "), one.size());
    request.headers.emplace_back(one.substr(0, colon), one.substr(std::min(colon + 2, one.size())));
  }
  return request;
}

// Nobody passes without what the rules ask for.
void check_guard(std::uint8_t how, std::string_view headers) {
  const GuardRules rules{.is_local = (how & kIsOpen) == 0,
                         .port = 8421,
                         .token = std::string((how & kHasToken) != 0 ? kToken : ""),
                         .hosts = {"mybox.lan"},
                         .origins = {std::string(kOrigin)},
                         .body_bytes = 1000};
  const HttpRequest request = request_of(headers);
  const bool may_pass = !serve::check_head(request, rules);
  const bool is_listed = !serve::cross_origin_headers(request, rules).empty();
  SATCHEL_ASSERT(!is_listed || request.header("origin") == kOrigin);
  if (!may_pass) return;
  SATCHEL_ASSERT(request.n_headers("host") == 1);
  SATCHEL_ASSERT(is_listed || !request.header("origin"));
  if (rules.token.empty() || request.method == "OPTIONS" || request.path == "/health") return;
  SATCHEL_ASSERT(headers.find(kToken) != std::string_view::npos);
}

void check_request(const ChatRequest& request) {
  using runtime::Role;
  SATCHEL_ASSERT(!request.messages.empty());
  SATCHEL_ASSERT(request.messages.front().role == Role::user);
  SATCHEL_ASSERT(request.messages.back().role == Role::user);
  SATCHEL_ASSERT(request.stop.size() <= serve::kStopsMax);
  SATCHEL_ASSERT(std::ranges::none_of(request.stop, &std::string::empty));
  SATCHEL_ASSERT(check(request.sampling).ok());
  SATCHEL_ASSERT(request.session.empty() || serve::is_session_id(request.session));
  SATCHEL_ASSERT(serve::is_recipe_name(request.recipe));
  SATCHEL_ASSERT(request.system_own <= request.system.value_or("").size());
  SATCHEL_ASSERT(request.system_end <= request.system.value_or("").size());
  for (const serve::ToolForm* form : runtime::tool_forms()) {
    ChatRequest told = request;
    told.form = form;
    serve::write_calls(told);
    serve::write_tools("", told);
    (void)serve::compile_shape(told);
    for (const serve::Said& said : told.messages) {
      SATCHEL_ASSERT(said.calls.empty() && said.results.empty());
      SATCHEL_ASSERT(serve::is_same_text(said.text, said.text + "\n", *form) ==
                     serve::is_same_text(said.text + "\n", said.text, *form));
    }
  }
}

}  // namespace

const Target target{.name = "request", .seeds = seeds, .generate = generate};

}  // namespace satchel::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace satchel;
  const auto given = fuzz::two_texts_of(bytes, size);
  if (!given) return 0;
  fuzz::check_guard(given->how, given->first);
  serve::Json body;
  if (serve::parse_body(std::string(given->second), body)) return 0;
  serve::ChatRequest request;
  if (fuzz::kParsers[given->how & 3](body, {}, request)) return 0;
  fuzz::check_request(request);
  if (serve::ResponseIds().recall(fuzz::chats(), request)) fuzz::check_request(request);
  (void)serve::compile_shape(request);
  return 0;
}
