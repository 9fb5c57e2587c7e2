#include "app/serve/chat_request.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "kernels/base/rng.h"
#include "runtime/grammar/json_excess.h"

namespace satchel::serve {
namespace {

Json with(const char* name, const Json& value) {
  Json body = {{"messages", Json::array({{{"role", "user"}, {"content", "Hello"}}})}};
  body[name] = value;
  return body;
}
ChatRequest parsed(const Json& body) {
  ChatRequest request;
  const auto error = parse_chat(body, {}, request);
  EXPECT_FALSE(error) << error->param << " " << error->message;
  return request;
}
// The field that is at fault; "": none.
std::string fault(const Json& body) {
  ChatRequest request;
  const auto error = parse_chat(body, {}, request);
  return error ? error->param : "";
}
Json messages(std::initializer_list<std::pair<const char*, Json>> said) {
  Json list = Json::array();
  for (const auto& [role, content] : said) list.push_back({{"role", role}, {"content", content}});
  return {{"messages", list}};
}

TEST(ChatRequest, takes_what_clients_send) {
  Json body = messages({{"system", "Be brief."},
                        {"developer", "Be kind."},
                        {"user", Json::array({{{"type", "text"}, {"text", "Hello"}},
                                              {{"type", "text"}, {"text", "again"}}})},
                        {"assistant", "Hi."},
                        {"user", "What now?"}});
  body.update(Json{{"model", "m"},
                   {"temperature", 0.5},
                   {"top_p", 0},
                   {"top_k", 3},
                   {"min_p", 0.1},
                   {"repetition_penalty", 1.2},
                   {"seed", -1},
                   {"max_tokens", 7},
                   {"max_completion_tokens", 9},
                   {"stop", Json::array({"a", "b"})},
                   {"stream", true},
                   {"stream_options", {{"include_usage", true}}},
                   {"n", 1},
                   {"logprobs", false},
                   {"tools", Json::array()},
                   {"tool_choice", nullptr},
                   {"response_format", {{"type", "text"}}},
                   {"prompt_cache_key", "key"},
                   {"satchel", {{"session", "s-1"}, {"recipe", "compact"}}}});
  const ChatRequest request = parsed(body);
  EXPECT_EQ(request.system, "Be brief.\n\nBe kind.");
  EXPECT_EQ(request.messages,
            (std::vector<Said>{{.role = runtime::Role::user, .text = "Hello\nagain"},
                               {.role = runtime::Role::assistant, .text = "Hi."},
                               {.role = runtime::Role::user, .text = "What now?"}}));
  EXPECT_EQ(request.sampling.temperature, 0.5);
  EXPECT_GT(request.sampling.top_p, 0);
  EXPECT_EQ(request.sampling.top_k, 3u);
  EXPECT_EQ(request.sampling.seed, ~std::uint64_t{0});
  EXPECT_EQ(request.sampling.n_tokens_max, 9u);
  EXPECT_EQ(request.stop.size(), 2u);
  EXPECT_TRUE(request.streams && request.wants_usage);
  EXPECT_EQ(request.session, "s-1");
  EXPECT_EQ(request.group, "key");
  EXPECT_EQ(request.recipe, "compact");
  EXPECT_TRUE(check(request.sampling).ok());
}

TEST(ChatRequest, what_cannot_be_done_is_refused_by_name) {
  EXPECT_EQ(fault(with("n", 2)), "n");
  EXPECT_EQ(fault(with("temperature", -1)), "temperature");
  EXPECT_EQ(fault(with("temperature", "hot")), "temperature");
  EXPECT_EQ(fault(with("top_p", 1.5)), "top_p");
  EXPECT_EQ(fault(with("max_tokens", 0)), "max_tokens");
  EXPECT_EQ(fault(with("max_tokens", 1.5)), "max_tokens");
  EXPECT_EQ(fault(with("max_tokens", -1)), "max_tokens");
  EXPECT_EQ(fault(with("seed", "x")), "seed");
  EXPECT_EQ(fault(with("stop", Json::array({"a", "b", "c", "d", "e"}))), "stop");
  EXPECT_EQ(fault(with("stop", "")), "stop");
  EXPECT_EQ(fault(with("stream", 1)), "stream");
  EXPECT_EQ(fault(with("functions", Json::array({Json::object({{"name", "f"}})}))), "functions");
  EXPECT_EQ(fault(with("response_format", {{"type", "json_schema"}})), "response_format.schema");
  EXPECT_EQ(fault(with("response_format", {{"type", "xml"}})), "response_format.type");
  EXPECT_EQ(fault(with("response_format", "json_object")), "response_format");
  EXPECT_EQ(fault(with("grammar", 3)), "grammar");
  EXPECT_EQ(fault(with("logprobs", true)), "logprobs");
  EXPECT_EQ(fault(with("logit_bias", {{"5", 1}})), "logit_bias");
  EXPECT_EQ(fault(with("frequency_penalty", 0.5)), "frequency_penalty");
  EXPECT_EQ(fault(with("audio", {{"voice", "x"}})), "audio");
  EXPECT_EQ(fault(with("satchel", {{"session", "a/b"}})), "satchel.session");
  EXPECT_EQ(fault(with("satchel", {{"session", std::string(129, 'a')}})), "satchel.session");
  EXPECT_EQ(fault(with("prompt_cache_key", "two words")), "prompt_cache_key");
  EXPECT_EQ(fault(with("messages", nullptr)), "messages");
  EXPECT_EQ(fault(with("messages", Json::array())), "messages");
  EXPECT_EQ(fault(with("messages", Json::array({1}))), "messages[0]");
}

TEST(ChatRequest, a_message_is_a_users_or_a_models_text) {
  const Json image = Json::array({{{"type", "image_url"}, {"image_url", {{"url", "x"}}}}});
  EXPECT_EQ(fault(messages({{"user", image}})), "messages[0].content[0].type");
  EXPECT_EQ(fault(messages({{"user", 5}})), "messages[0].content");
  EXPECT_EQ(fault(messages({{"user", "a"}, {"robot", "b"}})), "messages[1].role");
  EXPECT_EQ(fault(messages({{"user", "a"}, {"system", "b"}})), "messages[1].role");
  EXPECT_EQ(fault(messages({{"assistant", "a"}, {"user", "b"}})), "messages");
  EXPECT_EQ(fault(messages({{"user", "a"}, {"assistant", "b"}})), "messages");
  EXPECT_EQ(fault(messages({{"system", "a"}})), "messages");
}

TEST(ChatRequest, what_means_nothing_here_is_listed) {
  Json body = with("metadata", {{"a", 1}});
  body["satchel"] = {{"colour", "red"}};
  body["messages"][0]["name"] = "Anna";
  const auto ignored = parsed(body).ignored;
  for (const char* name : {"metadata", "satchel.colour", "messages[0].name"})
    EXPECT_NE(std::ranges::find(ignored, name), ignored.end()) << name;
  EXPECT_EQ(ignored.size(), 3u);
}

TEST(ChatRequest, deep_and_broken_json_is_refused) {
  Json document;
  EXPECT_EQ(parse_body(std::string(100'000, '['), document)->code, "invalid_json");
  EXPECT_EQ(parse_body("{\"a\": \"\xff\"}", document)->code, "invalid_json");
  EXPECT_EQ(parse_body("", document)->code, "invalid_json");
  EXPECT_EQ(parse_body("[]", document)->code, "invalid_json");
  EXPECT_FALSE(parse_body("{\"a\": \"[[[[\\\"[[[\"}", document));
}

// A request is taken or refused, and what is taken can be sampled with.
TEST(ChatRequest, any_mutation_of_a_request_is_taken_or_refused) {
  Json body = messages({{"system", "s"}, {"user", "u"}, {"assistant", "a"}, {"user", "v"}});
  body.update(Json{{"temperature", 1},
                   {"top_p", 0.5},
                   {"max_tokens", 5},
                   {"seed", 7},
                   {"stop", Json::array({"x"})},
                   {"stream", true},
                   {"n", 1},
                   {"stream_options", {{"include_usage", true}}},
                   {"satchel", {{"session", "s"}}}});
  const std::string whole = body.dump();
  Rng rng(11);
  constexpr std::string_view kBytes = "{}[]\",:0129-.eE\\ntfu \x01\xc3\xa9";
  std::size_t n_taken = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string text = whole;
    for (std::uint64_t n = 1 + rng.next() % 3; n > 0; --n) {
      const std::size_t at = rng.next() % text.size();
      const char byte = kBytes[rng.next() % kBytes.size()];
      switch (rng.next() % 3) {
        case 0:
          text[at] = byte;
          break;
        case 1:
          text.insert(at, 1, byte);
          break;
        default:
          text.erase(at, 1 + rng.next() % 4);
      }
    }
    Json document;
    ChatRequest request;
    if (parse_body(text, document) || parse_chat(document, {}, request)) continue;
    ++n_taken;
    ASSERT_TRUE(check(request.sampling).ok()) << text;
    ASSERT_EQ(request.messages.front().role, runtime::Role::user) << text;
    ASSERT_EQ(request.messages.back().role, runtime::Role::user) << text;
  }
  EXPECT_GT(n_taken, 500u);  // else it tests the JSON parser alone
}

// Each name that is added to an object is looked for among the others: 40,000 took 13 s.
TEST(ChatRequest, an_object_with_too_many_names_is_refused_before_it_is_read) {
  const auto body_of = [](std::size_t n) {
    std::string body = "{\"messages\": [1, 2, 3], \"text\": \"a:b:c\", \"metadata\": {";
    for (std::size_t i = 0; i < n; ++i)
      body += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":{\"x\":1}";
    return body + "}}";
  };
  Json document;
  EXPECT_FALSE(parse_body(body_of(runtime::kJsonNamesMax), document));
  const auto refused = parse_body(body_of(runtime::kJsonNamesMax + 1), document);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, "invalid_json");
  EXPECT_NE(refused->message.find("too many names"), std::string::npos);
}

// --- what an answer must be

TEST(AnswerShape, is_read_in_each_interfaces_own_form) {
  const Json schema{{"type", "object"}};
  const auto shape_of = [](auto parse, Json body) {
    body["max_tokens"] = 9;
    body["input"] = "Hello";
    ChatRequest request;
    const auto error = parse(body, Defaults{}, request);
    EXPECT_FALSE(error) << error->message;
    return request.shape;
  };
  const Json wrapped{{"type", "json_schema"}, {"json_schema", {{"name", "x"}, {"schema", schema}}}};
  const Json plain{{"type", "json_schema"}, {"name", "x"}, {"strict", true}, {"schema", schema}};
  const AnswerShape chat = shape_of(parse_chat, with("response_format", wrapped));
  EXPECT_EQ(chat.kind, AnswerShape::Kind::json_schema);
  EXPECT_EQ(chat.text, schema.dump());
  EXPECT_EQ(chat.param, "response_format.json_schema.schema");
  EXPECT_EQ(shape_of(parse_response, with("text", {{"format", plain}})).param,
            "text.format.schema");
  EXPECT_EQ(shape_of(parse_messages, with("output_config", {{"format", plain}})).text,
            schema.dump());
  EXPECT_EQ(shape_of(parse_chat, with("response_format", {{"type", "json_object"}})).kind,
            AnswerShape::Kind::json_object);
  EXPECT_EQ(shape_of(parse_chat, with("grammar", "root ::= \"a\"")).text, "root ::= \"a\"");
  Json both = with("response_format", wrapped);
  both["grammar"] = "root ::= \"a\"";
  EXPECT_EQ(fault(both), "grammar");
}

// The body's own order is the order in which an answer has the properties.
TEST(AnswerShape, a_schema_keeps_the_order_in_which_it_was_written) {
  Json body;
  ASSERT_FALSE(parse_body(
      R"({"messages": [{"role": "user", "content": "a"}], "response_format": {"type": "json_schema",
          "json_schema": {"schema": {"type": "object", "properties": {"z": {}, "a": {}}}}}})",
      body));
  EXPECT_EQ(parsed(body).shape.text, R"({"type":"object","properties":{"z":{},"a":{}}})");
}

TEST(AnswerShape, what_is_wrong_with_it_is_the_clients_fault_and_names_the_field) {
  const auto error_of = [](const Json& body) {
    ChatRequest request = parsed(body);
    return compile_shape(request);
  };
  const auto bad = error_of(with("grammar", "root ::= root"));
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->status, 400);
  EXPECT_EQ(bad->code, "grammar");
  EXPECT_EQ(bad->param, "grammar");
  const auto refused = error_of(with(
      "response_format", {{"type", "json_schema"}, {"json_schema", {{"schema", {{"not", 1}}}}}}));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->code, "schema");
  EXPECT_EQ(refused->param, "response_format.json_schema.schema");
  ChatRequest request = parsed(with("response_format", {{"type", "json_object"}}));
  EXPECT_FALSE(compile_shape(request));
  EXPECT_NE(request.sampling.grammar, nullptr);
}

}  // namespace
}  // namespace satchel::serve
