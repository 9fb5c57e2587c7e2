// What clients see: answers whole and streamed, usage, errors, and whose chat is whose.
#include "app/serve/server.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "running_server.h"
#include "support/temp_folder.h"
#include "support/value_of.h"

namespace satchel::serve {
namespace {

const Json kNote = user("Anna keeps three parrots. Bruno collects stamps.");
const Json kQuestion = user("What does Bruno collect?");

TEST(Server, a_streamed_answer_says_the_same_as_a_whole_one) {
  const RunningServer server;
  const Json chat = Json::array({kNote, model("Noted."), kQuestion});
  const Reply whole = server.chat(chat, {{"max_tokens", 60}});
  const std::string text = text_of(whole);
  EXPECT_FALSE(text.empty());
  EXPECT_EQ(whole.json()["object"], "chat.completion");
  EXPECT_EQ(whole.json()["choices"][0]["finish_reason"], "stop");
  EXPECT_TRUE(whole.json()["choices"][0]["message"]["refusal"].is_null());

  const Reply streamed = server.chat(
      chat, {{"max_tokens", 60}, {"stream", true}, {"stream_options", {{"include_usage", true}}}});
  EXPECT_EQ(streamed.status, 200);
  EXPECT_NE(streamed.head.find("text/event-stream"), std::string::npos);
  const std::vector<std::string> events = events_of(streamed.body);
  ASSERT_GT(events.size(), 3u);
  EXPECT_EQ(events.back(), "[DONE]");
  std::string said;
  std::string finish;
  for (std::size_t i = 0; i + 1 < events.size(); ++i) {
    const Json chunk = Json::parse(events[i]);
    EXPECT_EQ(chunk["object"], "chat.completion.chunk");
    if (chunk["choices"].empty()) continue;
    const Json& choice = chunk["choices"][0];
    said += choice["delta"].value("content", "");
    if (!choice["finish_reason"].is_null()) finish = choice["finish_reason"];
  }
  EXPECT_EQ(Json::parse(events.front())["choices"][0]["delta"]["role"], "assistant");
  EXPECT_EQ(said, text);
  EXPECT_EQ(finish, "stop");
  const Json usage = Json::parse(events[events.size() - 2])["usage"];
  EXPECT_EQ(usage["prompt_tokens"], whole.json()["usage"]["prompt_tokens"]);
}

TEST(Server, a_growing_chat_is_never_read_again) {
  const RunningServer server;
  Json chat = Json::array();
  std::size_t n_before = 0;
  for (int turn = 0; turn < 5; ++turn) {
    chat.push_back(user("Note " + std::to_string(turn) + ": Carla has a dog. What has she?"));
    const Reply reply = server.chat(chat);
    chat.push_back(model(text_of(reply)));
    // All of the last prompt, and its answer.
    EXPECT_TRUE(turn == 0 || cached_tokens(reply) > n_before);
    EXPECT_LT(cached_tokens(reply), prompt_tokens(reply));
    EXPECT_EQ(reply.json()["satchel"]["reread"], Json::array());
    n_before = prompt_tokens(reply);
  }
  EXPECT_EQ(text_of(server.chat(Json::array({kQuestion}))).empty(), false);
}

// Their beginnings are the same, their words are not.
TEST(Server, two_agents_that_alternate_keep_both_caches_also_after_a_restart) {
  const test::TempFolder folder;
  std::vector<Json> chats(2, Json::array({{{"role", "system"}, {"content", "Be brief."}},
                                          user("You are an agent. Begin.")}));
  std::vector<std::size_t> n_read(2, 0);
  std::vector<std::string> sessions(2);
  const auto alternate = [&](const RunningServer& server, int n_turns) {
    for (int turn = 0; turn < n_turns; ++turn)
      for (std::size_t agent = 0; agent < 2; ++agent) {
        Json& chat = chats[agent];
        const Reply reply = server.chat(chat);
        const std::string session = reply.json()["satchel"]["session"];
        EXPECT_TRUE(n_read[agent] == 0 || cached_tokens(reply) > n_read[agent]) << agent;
        // While both have said the same, each may go on in the other's chat.
        EXPECT_TRUE(chat.size() <= 4 || session == sessions[agent]);
        sessions[agent] = session;
        n_read[agent] = prompt_tokens(reply);
        chat.push_back(model(text_of(reply)));
        chat.push_back(user("Agent " + std::to_string(agent) + " has " +
                            std::to_string(static_cast<std::size_t>(turn) + 4 * agent) +
                            " apples. How many?"));
      }
  };
  {
    const RunningServer server({.store = folder.path()});
    // The first one's turn; from the same first message the other branches off.
    n_read = {0, 0};
    alternate(server, 1);
    EXPECT_NE(sessions[0], sessions[1]);
    alternate(server, 2);
  }
  const RunningServer again({.store = folder.path()});
  alternate(again, 2);
}

TEST(Server, a_client_that_leaves_and_asks_again_at_once_goes_on_in_its_short_chat) {
  RunningOptions options;
  options.server.defaults.sampling.ends_loops = false;
  const RunningServer server(options);
  const Json said = Json::array({kNote, model("Noted."), user("Tell me a long story.")});
  const Json endless{{"messages", said}, {"max_tokens", 100'000},
                     {"temperature", 2}, {"top_k", 0},
                     {"top_p", 1},       {"min_p", 0},
                     {"seed", 3},        {"stream", true}};
  HttpClient client(server.port());
  client.send(request_text(server.port(), "POST", "/v1/chat/completions", endless.dump()));
  EXPECT_NE(client.read_until("\"content\":\"").find("200 OK"), std::string::npos);
  client.leave();
  const Reply again = server.chat(said);
  EXPECT_GT(prompt_tokens(again), 20u);
  EXPECT_EQ(cached_tokens(again), prompt_tokens(again));
}

TEST(Server, an_edited_chat_is_read_from_the_edit_on_and_the_old_one_stays) {
  const RunningServer server;
  Json chat = Json::array({kNote, model("Noted."), kQuestion});
  const Reply first = server.chat(chat);
  Json edited = chat;
  edited[2] = user("What does Anna keep?");
  const Reply other = server.chat(edited);
  EXPECT_GT(cached_tokens(other), 10u);
  EXPECT_LT(cached_tokens(other), prompt_tokens(other));
  EXPECT_NE(other.json()["satchel"]["session"], first.json()["satchel"]["session"]);
  // The same once more: every token of it has been read.
  const Reply again = server.chat(chat);
  EXPECT_EQ(cached_tokens(again), prompt_tokens(again));
  EXPECT_EQ(text_of(again), text_of(first));
}

TEST(Server, a_session_id_names_one_chat_which_follows_its_edits) {
  const RunningServer server;
  const Json mine{{"satchel", {{"session", "mine"}}}};
  const Json chat = Json::array({kNote, model("Noted."), kQuestion});
  const Reply first = server.chat(chat, mine);
  EXPECT_EQ(cached_tokens(first), 0u);
  EXPECT_EQ(first.json()["satchel"]["session"], "mine");
  Json edited = chat;
  edited[2] = user("What does Anna keep?");
  EXPECT_GT(cached_tokens(server.chat(edited, mine)), 10u);
  Json body{{"messages", edited}, {"max_tokens", 12}};
  const Reply by_header =
      ask(server.port(), "POST", "/v1/chat/completions", body, "X-Satchel-Session: mine\r\n");
  EXPECT_EQ(cached_tokens(by_header), prompt_tokens(by_header));
  // Another id shares nothing.
  EXPECT_EQ(cached_tokens(server.chat(chat, {{"satchel", {{"session", "yours"}}}})), 0u);
  EXPECT_EQ(cached_tokens(server.chat(chat, {{"prompt_cache_key", "a-group"}})), 0u);
  EXPECT_GT(cached_tokens(server.chat(chat, {{"prompt_cache_key", "a-group"}})), 0u);
}

TEST(Server, a_long_system_text_is_read_once) {
  const RunningServer server;
  std::string rules;
  for (int i = 0; i < 60; ++i) rules += "Rule " + std::to_string(i) + ": be kind to all. ";
  const Json system{{"role", "system"}, {"content", rules}};
  const Reply first = server.chat(Json::array({system, kNote}));
  const Reply second = server.chat(Json::array({system, kQuestion}));
  EXPECT_EQ(cached_tokens(first), 0u);
  EXPECT_GT(cached_tokens(second), 400u);
  EXPECT_LT(cached_tokens(second), prompt_tokens(second));
  // Said alone, the answer is the same.
  const RunningServer fresh;
  EXPECT_EQ(text_of(fresh.chat(Json::array({system, kQuestion}))), text_of(second));
}

TEST(Server, a_limit_is_said_and_a_stop_text_ends_an_answer) {
  const RunningServer server;
  const Json chat = Json::array({kNote, model("Noted."), kQuestion});
  const std::string text = text_of(server.chat(chat));
  const Reply cut = server.chat(chat, {{"max_tokens", 2}});
  EXPECT_EQ(cut.json()["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(cut.json()["satchel"]["truncated"], true);
  EXPECT_EQ(cut.json()["usage"]["completion_tokens"], 2);
  ASSERT_GT(text.size(), 6u);
  const Reply stopped = server.chat(chat, {{"stop", text.substr(4, 2)}});
  EXPECT_EQ(text_of(stopped), text.substr(0, text.find(text.substr(4, 2))));
  EXPECT_EQ(stopped.json()["choices"][0]["finish_reason"], "stop");
  EXPECT_EQ(stopped.json()["satchel"]["finish"], "stop_text");
  const std::string session = stopped.json()["satchel"]["session"];
  Json further = chat;
  further.push_back(model(text_of(stopped)));
  further.push_back(kQuestion);
  EXPECT_EQ(server.chat(further).json()["satchel"]["session"], session)
      << "what was shown is what comes back";
}

TEST(Server, a_seed_gives_the_same_text_twice) {
  const RunningServer server;
  const Json hot{{"temperature", 1.5}, {"top_k", 0}, {"top_p", 1}, {"min_p", 0}, {"seed", 5}};
  const Json chat = Json::array({kNote});
  EXPECT_EQ(text_of(server.chat(chat, hot)), text_of(server.chat(chat, hot)));
}

TEST(Server, what_is_too_long_is_refused_with_what_would_fit) {
  const RunningServer server;
  std::string words;
  for (int i = 0; i < 3000; ++i) words += "word ";
  const Reply reply = server.chat(Json::array({user(words)}));
  EXPECT_EQ(reply.status, 400);
  const Json error = reply.json()["error"];
  EXPECT_EQ(error["code"], "context_length_exceeded");
  EXPECT_EQ(error["param"], "messages");
  EXPECT_NE(error["message"].get<std::string>().find("2,048"), std::string::npos);
  EXPECT_EQ(server.chat(Json::array({kNote})).status, 200);
}

TEST(Server, a_refused_request_leaves_all_chats_as_they_were) {
  const test::TempFolder folder;
  const RunningServer server({.store = folder.path()});
  const Json mine{{"satchel", {{"session", "mine"}}}};
  const Json chat = Json::array({kNote, model("Noted."), kQuestion});
  ASSERT_EQ(server.chat(chat, mine).status, 200);
  ASSERT_EQ(server.chat(chat).status, 200);
  const auto n_messages = [&] {
    const Json all = server.get("/satchel/sessions").json();
    Json out;
    for (const Json& session : all["sessions"])
      out[session["id"].get<std::string>()] = session["messages"];
    return out;
  };
  const Json before = n_messages();
  std::string words;
  for (int i = 0; i < 3000; ++i) words += "word ";
  const Json edited = Json::array({kNote, user(words)});
  const Json other = Json::array({{{"role", "system"}, {"content", "Be brief."}}, user(words)});
  for (const Json& more : {mine, Json::object()})
    for (const Json& said : {edited, other}) {
      const Reply reply = server.chat(said, more);
      EXPECT_EQ(reply.status, 400);
      EXPECT_EQ(reply.json()["error"]["code"], "context_length_exceeded");
    }
  EXPECT_EQ(n_messages(), before);
  EXPECT_EQ(before.value("mine", 0), 4);
}

TEST(Server, a_short_memory_closes_the_chat_unused_for_longest) {
  const test::TempFolder folder;
  const RunningServer server({.store = folder.path(), .limit_bytes = 6'000'000});
  std::vector<Json> chats;
  for (int i = 0; i < 6; ++i) {
    Json chat = Json::array();
    std::string note = "Chat " + std::to_string(i) + ". ";
    for (int n = 0; n < 40; ++n) note += "Dora planted tree " + std::to_string(n) + " there. ";
    chat.push_back(user(note));
    chat.push_back(model(text_of(server.chat(chat))));
    chats.push_back(std::move(chat));
  }
  const std::string metrics = server.get("/metrics").body;
  EXPECT_EQ(metrics.find("satchel_chats_closed_total 0\n"), std::string::npos) << metrics;
  // What was closed comes back from the store.
  chats[0].push_back(kQuestion);
  const Reply back = server.chat(chats[0]);
  EXPECT_GT(cached_tokens(back), 300u) << back.body;
}

// The bundled model knows notes and no JSON: what it says here is the grammar's doing.
const Json kFormat{
    {"type", "json_schema"},
    {"json_schema",
     {{"name", "person"},
      {"strict", true},
      {"schema",
       {{"type", "object"},
        {"properties",
         {{"name", {{"type", "string"}, {"maxLength", 12}}},
          {"pets", {{"type", "array"}, {"items", {{"enum", {"parrot", "cat"}}}}, {"maxItems", 2}}},
          {"age", {{"type", "integer"}, {"minimum", 0}, {"maximum", 99}}}}},
        {"required", {"name", "pets", "age"}},
        {"additionalProperties", false}}}}}};

void expect_a_person(const std::string& text) {
  const Json person = Json::parse(text, nullptr, false);
  ASSERT_TRUE(person.is_object()) << text;
  EXPECT_EQ(person.size(), 3u) << text;
  EXPECT_LE(person["name"].get<std::string>().size(), 48u);
  EXPECT_LE(person["pets"].size(), 2u);
  EXPECT_LE(person["age"].get<int>(), 99);
}

TEST(Server, an_answer_with_a_schema_is_json_that_it_accepts) {
  const RunningServer server;
  const Json chat = Json::array({kNote, model("Noted."), kQuestion});
  for (const double temperature : {0.0, 1.0}) {
    const Reply reply = server.chat(
        chat, {{"max_tokens", 200}, {"temperature", temperature}, {"response_format", kFormat}});
    ASSERT_EQ(reply.status, 200) << reply.body;
    EXPECT_EQ(reply.json()["choices"][0]["finish_reason"], "stop");
    expect_a_person(text_of(reply));
  }
  const Json& inner = kFormat["json_schema"];
  const Reply response = server.post(
      "/v1/responses",
      {{"input", "Who?"},
       {"text",
        {{"format", {{"type", "json_schema"}, {"name", "p"}, {"schema", inner["schema"]}}}}}});
  ASSERT_EQ(response.status, 200) << response.body;
  expect_a_person(response.json()["output"][0]["content"][0]["text"]);
  EXPECT_EQ(response.json()["text"]["format"]["type"], "json_schema");
  const Reply message = server.post(
      "/v1/messages",
      {{"max_tokens", 200},
       {"messages", chat},
       {"output_config", {{"format", {{"type", "json_schema"}, {"schema", inner["schema"]}}}}}});
  ASSERT_EQ(message.status, 200) << message.body;
  expect_a_person(message.json()["content"][0]["text"]);
}

TEST(Server, a_grammar_ends_an_answer_and_a_limit_cuts_it) {
  const RunningServer server;
  const Json chat = Json::array({kNote, model("Noted."), kQuestion});
  const Json grammar{{"grammar", "root ::= \"yes\" | \"no\""}};
  const Reply whole = server.chat(chat, grammar);
  EXPECT_TRUE(text_of(whole) == "yes" || text_of(whole) == "no") << whole.body;
  EXPECT_EQ(whole.json()["choices"][0]["finish_reason"], "stop");
  const Reply cut = server.chat(chat, {{"max_tokens", 2}, {"response_format", kFormat}});
  EXPECT_EQ(cut.json()["choices"][0]["finish_reason"], "length");
  // What was said within the grammar is found again, and free answers go on.
  Json further = chat;
  further.push_back(model(text_of(whole)));
  further.push_back(kQuestion);
  EXPECT_GT(cached_tokens(server.chat(further)), prompt_tokens(whole));
}

TEST(Server, a_bad_grammar_or_schema_is_refused_with_its_place) {
  const RunningServer server;
  const Reply grammar = server.chat(Json::array({kNote}), {{"grammar", "root ::= (\"a\""}});
  EXPECT_EQ(grammar.status, 400);
  EXPECT_EQ(grammar.json()["error"]["param"], "grammar");
  EXPECT_NE(grammar.json()["error"]["message"].get<std::string>().find("Line 1, column 14"),
            std::string::npos)
      << grammar.body;
  Json format = kFormat;
  format["json_schema"]["schema"]["properties"]["pets"]["uniqueItems"] = true;
  const Reply schema = server.chat(Json::array({kNote}), {{"response_format", format}});
  EXPECT_EQ(schema.status, 400);
  EXPECT_EQ(schema.json()["error"]["param"], "response_format.json_schema.schema");
  EXPECT_NE(schema.json()["error"]["message"].get<std::string>().find("#/properties/pets"),
            std::string::npos)
      << schema.body;
}

// --- tools: the bundled model has never seen one, so that it is told to call

const Json kTool{{"type", "function"},
                 {"function",
                  {{"name", "find_pet"},
                   {"description", "Who keeps it?"},
                   {"parameters",
                    {{"type", "object"},
                     {"properties",
                      {{"pet", {{"enum", {"cat", "parrot"}}}},
                       {"age", {{"type", "integer"}, {"minimum", 1}, {"maximum", 9}}}}},
                     {"required", {"pet", "age"}},
                     {"additionalProperties", false}}}}}};

void expect_call(const Json& function) {
  EXPECT_EQ(function["name"], "find_pet");
  const Json arguments = Json::parse(function["arguments"].get<std::string>());
  EXPECT_TRUE(arguments["pet"] == "cat" || arguments["pet"] == "parrot") << arguments;
  EXPECT_LE(arguments["age"].get<int>(), 9);
}

TEST(ServerTools, a_call_is_made_answered_and_found_again) {
  const RunningServer server;
  const Json offer{{"tools", Json::array({kTool})}, {"max_tokens", 120}};
  Json must = offer;
  must["tool_choice"] = "required";
  must["parallel_tool_calls"] = false;
  Json chat = Json::array({kNote});
  const Reply called = server.chat(chat, must);
  ASSERT_EQ(called.status, 200) << called.body;
  const Json choice = called.json()["choices"][0];
  EXPECT_EQ(choice["finish_reason"], "tool_calls") << called.body;
  EXPECT_TRUE(choice["message"]["content"].is_null());
  ASSERT_EQ(choice["message"]["tool_calls"].size(), 1u) << called.body;
  const Json call = choice["message"]["tool_calls"][0];
  expect_call(call["function"]);
  EXPECT_EQ(call["type"], "function");

  // The result goes behind the call: all before it is held.
  chat.push_back(
      {{"role", "assistant"}, {"content", nullptr}, {"tool_calls", Json::array({call})}});
  chat.push_back({{"role", "tool"}, {"tool_call_id", call["id"]}, {"content", "Anna"}});
  const Reply answered = server.chat(chat, offer);
  ASSERT_EQ(answered.status, 200) << answered.body;
  EXPECT_EQ(answered.json()["satchel"]["session"], called.json()["satchel"]["session"]);
  EXPECT_GE(cached_tokens(answered), prompt_tokens(called) + 10);
  EXPECT_EQ(answered.json()["choices"][0]["finish_reason"], "stop");
  // Other tools are another prompt.
  EXPECT_EQ(cached_tokens(server.chat(chat)), 0u);
}

TEST(ServerTools, a_streamed_call_is_the_same_call) {
  const RunningServer server;
  const Json must{{"tools", Json::array({kTool})},
                  {"tool_choice", {{"type", "function"}, {"function", {{"name", "find_pet"}}}}},
                  {"max_tokens", 120}};
  const Reply whole = server.chat(Json::array({kNote}), must);
  Json streams = must;
  streams["stream"] = true;
  const Reply streamed = server.chat(Json::array({kNote}), streams);
  Json call;
  std::string arguments, finish;
  const std::vector<std::string> events = events_of(streamed.body);
  for (std::size_t i = 0; i + 1 < events.size(); ++i) {
    const Json choice = Json::parse(events[i])["choices"][0];
    if (!choice["finish_reason"].is_null()) finish = choice["finish_reason"];
    if (!choice["delta"].contains("tool_calls")) continue;
    const Json& delta = choice["delta"]["tool_calls"][0];
    EXPECT_EQ(delta["index"], 0);
    if (delta.contains("id")) call = delta;
    arguments += delta["function"].value("arguments", "");
  }
  EXPECT_EQ(finish, "tool_calls");
  const Json expected = whole.json()["choices"][0]["message"]["tool_calls"][0];
  EXPECT_EQ(call["function"]["name"], expected["function"]["name"]);
  EXPECT_EQ(arguments, expected["function"]["arguments"]);
}

TEST(ServerTools, the_other_interfaces_have_their_own_forms) {
  const RunningServer server;
  const Json& function = kTool["function"];
  const Json message{
      {"max_tokens", 120},
      {"messages", Json::array({kNote})},
      {"tool_choice", {{"type", "any"}, {"disable_parallel_tool_use", true}}},
      {"tools", Json::array({{{"name", "find_pet"}, {"input_schema", function["parameters"]}}})}};
  const Reply used = server.post("/v1/messages", message);
  ASSERT_EQ(used.status, 200) << used.body;
  EXPECT_EQ(used.json()["stop_reason"], "tool_use");
  const Json block = used.json()["content"][0];
  EXPECT_EQ(block["type"], "tool_use");
  EXPECT_LE(block["input"]["age"].get<int>(), 9);
  Json next = message;
  next["tool_choice"] = {{"type", "auto"}};
  next["messages"].push_back({{"role", "assistant"}, {"content", Json::array({block})}});
  next["messages"].push_back({{"role", "user"},
                              {"content", Json::array({{{"type", "tool_result"},
                                                        {"tool_use_id", block["id"]},
                                                        {"content", "Anna"}}})}});
  const Reply answered = server.post("/v1/messages", next);
  ASSERT_EQ(answered.status, 200) << answered.body;
  EXPECT_GT(answered.json()["usage"]["cache_read_input_tokens"],
            used.json()["usage"]["input_tokens"]);

  Json tool = function;
  tool["type"] = "function";
  const Reply response = server.post("/v1/responses", {{"input", "Who keeps a cat?"},
                                                       {"tools", Json::array({tool})},
                                                       {"parallel_tool_calls", false},
                                                       {"tool_choice", "required"}});
  ASSERT_EQ(response.status, 200) << response.body;
  const Json item = response.json()["output"][0];
  EXPECT_EQ(item["type"], "function_call") << response.body;
  expect_call(item);
}

TEST(ServerTools, a_choice_of_none_calls_nothing_and_a_schema_goes_with_tools) {
  const RunningServer server;
  Json offer{{"tools", Json::array({kTool})}, {"tool_choice", "none"}, {"max_tokens", 20}};
  const Reply none = server.chat(Json::array({kNote}), offer);
  ASSERT_EQ(none.status, 200) << none.body;
  EXPECT_FALSE(none.json()["choices"][0]["message"].contains("tool_calls"));
  offer["response_format"] = kFormat;
  offer["max_tokens"] = 200;
  expect_a_person(text_of(server.chat(Json::array({kNote}), offer)));
  offer.erase("response_format");
  offer["grammar"] = "root ::= \"a\"";
  EXPECT_EQ(server.chat(Json::array({kNote}), offer).json()["error"]["param"], "grammar");
}

TEST(Server, says_what_there_is) {
  const RunningServer server;
  const Json models = server.get("/v1/models").json();
  const std::string id = models["data"][0]["id"];
  EXPECT_EQ(server.get("/v1/models/" + id).json()["id"], id);
  EXPECT_EQ(server.get("/v1/models/other").status, 404);
  EXPECT_EQ(server.get("/health").json()["status"], "ok");
  EXPECT_EQ(server.get("/nothing").status, 404);
  EXPECT_EQ(server.get("/v1/chat/completions").status, 405);
  EXPECT_EQ(server.chat(Json::array({kNote}), {{"model", "other"}}).json()["error"]["code"],
            "model_not_found");
  EXPECT_EQ(server.chat(Json::array({kNote}), {{"model", id}}).status, 200);
}

}  // namespace
}  // namespace satchel::serve
