// The other interfaces, and what only Satchel has.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "running_server.h"
#include "support/temp_folder.h"

namespace satchel::serve {
namespace {

const Json kChat =
    Json::array({user("Anna keeps three parrots."), model("Noted."), user("What keeps Anna?")});

// Without the mark that ends responses.
std::vector<std::string> json_events(const std::string& body) {
  std::vector<std::string> events = events_of(body);
  if (events.back() == "[DONE]") events.pop_back();
  return events;
}
std::vector<std::string> types_of(const std::string& body) {
  std::vector<std::string> types;
  for (const std::string& event : json_events(body)) {
    types.push_back(Json::parse(event)["type"]);
    // The name of an event is its type.
    EXPECT_NE(body.find("event: " + types.back() + "\ndata: "), std::string::npos);
  }
  return types;
}
std::string joined(const std::string& body, const std::string& type) {
  std::string text;
  for (const std::string& one : json_events(body)) {
    const Json event = Json::parse(one);
    if (event["type"] != type) continue;
    text += event["delta"].is_string() ? event["delta"].get<std::string>()
                                       : event["delta"]["text"].get<std::string>();
  }
  return text;
}

TEST(Forms, all_interfaces_give_the_same_answer_from_the_same_chat) {
  const RunningServer server;
  const Reply chat = server.chat(kChat, {{"max_tokens", 40}});
  const std::string text = text_of(chat);
  const Reply message = server.post("/v1/messages", {{"max_tokens", 40}, {"messages", kChat}});
  ASSERT_EQ(message.status, 200) << message.body;
  EXPECT_EQ(message.json()["content"][0]["text"], text);
  EXPECT_EQ(message.json()["usage"]["input_tokens"], 0);
  EXPECT_EQ(message.json()["usage"]["cache_read_input_tokens"], prompt_tokens(chat));
  const Reply response =
      server.post("/v1/responses", {{"max_output_tokens", 40}, {"input", kChat}});
  ASSERT_EQ(response.status, 200) << response.body;
  EXPECT_EQ(response.json()["output"][0]["content"][0]["text"], text);
  EXPECT_EQ(response.json()["usage"]["input_tokens_details"]["cached_tokens"], prompt_tokens(chat));
  const Reply completion = server.post("/v1/completions", {{"prompt", "Hello"}, {"max_tokens", 5}});
  const Reply hello = server.chat(Json::array({user("Hello")}), {{"max_tokens", 5}});
  EXPECT_EQ(completion.json()["choices"][0]["text"], text_of(hello));
}

TEST(Forms, messages_are_streamed_as_blocks) {
  const RunningServer server;
  const Json ask{{"max_tokens", 40}, {"messages", kChat}};
  Json streamed = ask;
  streamed["stream"] = true;
  const Reply reply = server.post("/v1/messages", streamed);
  std::vector<std::string> types = types_of(reply.body);
  const auto deltas = std::ranges::remove(types, "content_block_delta");
  types.erase(deltas.begin(), deltas.end());
  EXPECT_EQ(types,
            (std::vector<std::string>{"message_start", "content_block_start", "content_block_stop",
                                      "message_delta", "message_stop"}));
  const Json start = Json::parse(events_of(reply.body).front())["message"];
  const Json last = Json::parse(events_of(reply.body).end()[-2]);
  // What was foretold at the beginning is what was measured.
  EXPECT_EQ(start["usage"]["input_tokens"], last["usage"]["input_tokens"]);
  EXPECT_GT(last["usage"]["input_tokens"], 0);
  EXPECT_EQ(last["delta"]["stop_reason"], "end_turn");
  const Json whole = server.post("/v1/messages", ask).json();
  EXPECT_EQ(joined(reply.body, "content_block_delta"), whole["content"][0]["text"]);
  const Json counted = server.post("/v1/messages/count_tokens", {{"messages", kChat}}).json();
  EXPECT_EQ(counted["input_tokens"], start["usage"]["input_tokens"]);
}

TEST(Forms, a_response_is_streamed_as_json_events) {
  const RunningServer server;
  const Reply reply = server.post("/v1/responses",
                                  {{"input", "Hello"}, {"stream", true}, {"max_output_tokens", 3}});
  EXPECT_EQ(events_of(reply.body).back(), "[DONE]");
  std::size_t next = 0;
  for (const std::string& event : json_events(reply.body))
    EXPECT_EQ(Json::parse(event)["sequence_number"], next++);
  const std::vector<std::string> types = types_of(reply.body);
  EXPECT_EQ(types.front(), "response.created");
  EXPECT_EQ(types.back(), "response.incomplete");
  const Json last = Json::parse(json_events(reply.body).back())["response"];
  EXPECT_EQ(last["incomplete_details"]["reason"], "max_output_tokens");
  EXPECT_EQ(last["output"][0]["content"][0]["text"],
            joined(reply.body, "response.output_text.delta"));
}

TEST(Forms, each_refuses_in_its_own_words) {
  const RunningServer server;
  const Json error = server.post("/v1/messages", {{"messages", kChat}}).json();
  EXPECT_EQ(error["type"], "error");
  EXPECT_EQ(error["error"]["type"], "invalid_request_error");
  EXPECT_NE(error["error"]["message"].get<std::string>().find("max_tokens"), std::string::npos);
  const auto param = [&](const std::string& path, const Json& body) {
    return server.post(path, body).json()["error"].value("param", "");
  };
  EXPECT_EQ(param("/v1/responses", {{"input", 5}}), "input");
  EXPECT_EQ(
      param("/v1/responses", {{"input", Json::array({{{"type", "item_reference"}, {"id", "f"}}})}}),
      "input[0].type");
  EXPECT_EQ(param("/v1/completions", {{"prompt", Json::array({"a", "b"})}}), "prompt");
  EXPECT_EQ(param("/v1/completions", {{"prompt", "a"}, {"echo", true}}), "echo");
}

TEST(Forms, a_session_tells_what_it_holds_and_is_changed) {
  const test::TempFolder folder;
  const RunningServer server({.store = folder.path()});
  const Json mine{{"satchel", {{"session", "mine"}}}};
  EXPECT_EQ(server.chat(kChat, mine).status, 200);
  const std::string at = "/satchel/sessions/mine";
  EXPECT_EQ(server.get("/satchel/sessions").json()["sessions"][0]["id"], "mine");
  EXPECT_EQ(server.get(at).json()["messages"], 4);
  EXPECT_GT(server.get(at + "/cache").json()["kv_bytes"], 0);
  EXPECT_TRUE(server.get(at + "/fidelity").json()["fidelity"].is_null());  // nothing was packed
  EXPECT_EQ(server.post(at + "/pin", {{"message", 0}}).json()["done"], "pin");
  EXPECT_EQ(server.post(at + "/forget", {{"message", 0}}).json()["done"], "forget");
  EXPECT_EQ(server.post(at + "/pin", {{"message", 4}}).json()["error"]["param"], "message");
  EXPECT_EQ(server.post(at + "/pin", Json::object()).json()["error"]["param"], "message");
  const Json least = server.post(at + "/limit", {{"bytes", 1000}}).json();
  EXPECT_EQ(least["error"]["code"], "limit");
  EXPECT_EQ(server.post(at + "/limit", {{"bytes", 9'000'000}}).status, 200);
  EXPECT_EQ(server.post(at + "/recipe", {{"recipe", "compact"}}).json()["fits"], true);
  EXPECT_EQ(server.post(at + "/other", Json::object()).status, 404);
  EXPECT_EQ(server.get("/satchel/sessions/yours").status, 404);
  EXPECT_EQ(ask(server.port(), "DELETE", at).json()["deleted"], true);
  EXPECT_EQ(server.get(at).status, 404);
  EXPECT_EQ(cached_tokens(server.chat(kChat, mine)), 0u);
}

// A client may choose what there is, and read no file.
TEST(Forms, a_recipe_is_a_name_and_never_a_path) {
  const RunningServer server;
  for (const char* path : {"/etc/passwd", "../x", "x.json", "./compact", "a b"}) {
    const Json body{{"messages", kChat}, {"satchel", {{"recipe", path}}}};
    EXPECT_EQ(server.post("/v1/chat/completions", body).json()["error"]["param"], "satchel.recipe");
    EXPECT_EQ(server.post("/satchel/estimate", {{"recipe", path}}).json()["error"]["param"],
              "recipe");
  }
  EXPECT_EQ(server.post("/satchel/estimate", {{"recipe", "compact"}}).json()["fits"], true);
  EXPECT_EQ(server.chat(kChat, {{"satchel", {{"recipe", "nothing"}}}}).status, 404);
  EXPECT_EQ(server.chat(kChat, {{"satchel", {{"recipe", "compact"}}}}).status, 200);
}

TEST(Forms, tokens_and_back) {
  const RunningServer server;
  const Json ids = server.post("/tokenize", {{"content", "Anna keeps parrots."}}).json()["tokens"];
  EXPECT_GT(ids.size(), 2u);
  EXPECT_EQ(server.post("/detokenize", {{"tokens", ids}}).json()["content"], "Anna keeps parrots.");
  EXPECT_EQ(server.post("/detokenize", {{"tokens", Json::array({-1})}}).status, 400);
  EXPECT_EQ(server.post("/detokenize", {{"tokens", Json::array({"a"})}}).status, 400);
  EXPECT_EQ(server.post("/tokenize", {{"content", 5}}).status, 400);
}

}  // namespace
}  // namespace satchel::serve
