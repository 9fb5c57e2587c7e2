// Responses that follow others.
#include <gtest/gtest.h>

#include <string>

#include "running_server.h"
#include "support/temp_folder.h"

namespace satchel::serve {
namespace {

const std::string kNote = "Anna keeps three parrots.", kQuestion = "What does Anna keep?";

Reply respond(const RunningServer& server, const Json& input, const Json& more = Json::object()) {
  Json body{{"input", input}, {"max_output_tokens", 40}};
  body.update(more);
  return server.post("/v1/responses", body);
}
Json after(const Reply& reply) {
  return {{"previous_response_id", reply.json()["id"]}};
}
std::string said_in(const Reply& reply) {
  EXPECT_EQ(reply.status, 200) << reply.body;
  return reply.status == 200 ? reply.json()["output"][0]["content"][0]["text"] : Json("");
}
std::size_t cached_in(const Reply& reply) {
  return reply.json()["usage"]["input_tokens_details"]["cached_tokens"];
}
std::string refusal_of(const Reply& reply) {
  EXPECT_EQ(reply.status, 400) << reply.body;
  EXPECT_EQ(reply.json()["error"]["param"], "previous_response_id");
  return reply.json()["error"]["code"];
}

TEST(Responses, one_that_follows_another_is_the_same_chat) {
  const RunningServer server;
  const Reply note = respond(server, kNote), question = respond(server, kQuestion, after(note));
  EXPECT_EQ(question.json()["previous_response_id"], note.json()["id"]);
  EXPECT_GT(cached_in(question), note.json()["usage"]["input_tokens"]);
  const Json whole = Json::array({user(kNote), model(said_in(note)), user(kQuestion)});
  const Reply told = respond(server, whole);
  EXPECT_EQ(said_in(told), said_in(question));
  EXPECT_EQ(cached_in(told), question.json()["usage"]["input_tokens"]);
  // Another question in its place: both go on.
  const Reply other = respond(server, "Who keeps parrots?", after(note));
  EXPECT_GT(cached_in(other), note.json()["usage"]["input_tokens"]);
  for (const Reply* each : {&question, &other}) {
    const Reply further = respond(server, "And Bruno?", after(*each));
    EXPECT_GT(cached_in(further), each->json()["usage"]["input_tokens"]);
  }
}

TEST(Responses, the_id_of_a_stream_is_followed_too) {
  const RunningServer server;
  const Reply stream = respond(server, kNote, {{"stream", true}});
  const Json first = Json::parse(events_of(stream.body).front())["response"];
  const Reply next =
      respond(server, kQuestion, {{"previous_response_id", first["id"]}, {"stream", false}});
  EXPECT_GT(cached_in(next), 0u) << next.body;
}

TEST(Responses, a_result_follows_its_call) {
  const RunningServer server;
  const Json place{{"type", "string"}, {"maxLength", 12}};
  const Json form{
      {"type", "object"}, {"properties", {{"place", place}}}, {"required", Json::array({"place"})}};
  const Json find{{"type", "function"}, {"name", "find"}, {"parameters", form}};
  const Json tools{{"tools", Json::array({find})}, {"max_output_tokens", 200}};
  Json must = tools;
  must.update(Json{{"tool_choice", "required"}, {"parallel_tool_calls", false}});
  const Reply called = respond(server, kQuestion, must);
  ASSERT_EQ(called.json()["output"][0]["type"], "function_call") << called.body;
  Json more = tools;
  more.update(after(called));
  const Json result{{"type", "function_call_output"},
                    {"call_id", called.json()["output"][0]["call_id"]},
                    {"output", "Parrots."}};
  const Reply answer = respond(server, Json::array({result}), more);
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_GT(cached_in(answer), called.json()["usage"]["input_tokens"]);
}

TEST(Responses, one_can_be_had_again_as_long_as_its_chat_is_known) {
  const RunningServer server;
  const auto again = [&](const Json& id) {
    return server.get("/v1/responses/" + id.get<std::string>());
  };
  const Reply whole = respond(server, kNote);
  EXPECT_EQ(again(whole.json()["id"]).json(), whole.json());
  const Reply stream = respond(server, kQuestion, {{"stream", true}});
  const Json last = Json::parse(events_of(stream.body).end()[-2])["response"];
  EXPECT_EQ(last["status"], "completed");
  EXPECT_EQ(again(last["id"]).json(), last);
  const Reply unkept = respond(server, kNote, {{"store", false}});
  for (const Json& id : {Json("resp_1"), Json("a'/.."), unkept.json()["id"]}) {
    const Reply missing = again(id);
    EXPECT_EQ(missing.status, 404) << id;
    EXPECT_EQ(missing.json()["error"]["type"], "invalid_request_error");
    EXPECT_EQ(missing.json()["error"]["code"], "response_not_found");
  }
  const std::string session = whole.json()["satchel"]["session"];
  EXPECT_EQ(ask(server.port(), "DELETE", "/satchel/sessions/" + session).status, 200);
  EXPECT_EQ(again(whole.json()["id"]).status, 404);
}

TEST(Responses, an_id_that_means_nothing_is_refused) {
  const RunningServer server;
  EXPECT_EQ(refusal_of(respond(server, kQuestion, {{"previous_response_id", "resp_1"}})),
            "previous_response_not_found");
  const Reply unkept = respond(server, kNote, {{"store", false}});
  EXPECT_EQ(unkept.json()["store"], false);
  EXPECT_EQ(refusal_of(respond(server, kQuestion, after(unkept))), "previous_response_not_found");
  const Reply kept = respond(server, kNote);
  EXPECT_EQ(kept.json()["store"], true);
  const std::string session = kept.json()["satchel"]["session"];
  EXPECT_EQ(ask(server.port(), "DELETE", "/satchel/sessions/" + session).status, 200);
  EXPECT_EQ(refusal_of(respond(server, kQuestion, after(kept))), "previous_response_not_found");
}

TEST(Responses, one_whose_answer_its_session_made_anew_is_gone) {
  const RunningServer server;
  const Json mine{{"satchel", {{"session", "mine"}}}};
  const auto also_mine = [&](const Reply& reply) {
    Json more = mine;
    more.update(after(reply));
    return more;
  };
  const Reply note = respond(server, kNote, mine);
  const Reply first = respond(server, kQuestion, also_mine(note));
  Json hot = also_mine(note);
  hot.update(Json{{"temperature", 2}, {"top_p", 1}, {"seed", 7}, {"min_p", 0}, {"top_k", 0}});
  const Reply second = respond(server, kQuestion, hot);
  ASSERT_NE(said_in(first), said_in(second));
  EXPECT_EQ(refusal_of(respond(server, "Why?", also_mine(first))), "previous_response_not_found");
  EXPECT_EQ(respond(server, "Why?", also_mine(second)).status, 200);
}

TEST(Responses, an_id_outlives_the_server_where_chats_are_saved) {
  const test::TempFolder folder;
  Reply note;
  {
    const RunningServer server({.store = folder.path()});
    note =
        respond(server, Json::array({{{"role", "system"}, {"content", "Be brief."}}, user(kNote)}));
  }
  const RunningServer server({.store = folder.path()});
  const Reply question = respond(server, kQuestion, after(note));
  EXPECT_GT(cached_in(question), note.json()["usage"]["input_tokens"]) << question.body;
  EXPECT_EQ(refusal_of(respond(RunningServer(), kQuestion, after(note))),
            "previous_response_not_found");
}

}  // namespace
}  // namespace satchel::serve
