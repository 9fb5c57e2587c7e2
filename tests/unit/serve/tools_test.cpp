// Tools as clients offer them and as models read and write them.
#include "app/serve/tools.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "app/serve/chat_request.h"
#include "app/serve/known_chat.h"

namespace satchel::serve {
namespace {

using Calls = runtime::ToolAnswers::Calls;

const Json kFunction{{"name", "find_pet"},
                     {"description", "Who keeps it?"},
                     {"parameters",
                      {{"type", "object"},
                       {"properties", {{"pet", {{"type", "string"}, {"maxLength", 8}}}}},
                       {"required", {"pet"}}}}};
const Json kTool{{"type", "function"}, {"function", kFunction}};
const std::string kCall =
    "<tool_call>\n{\"name\": \"find_pet\", \"arguments\": {\"pet\": \"cat\"}}\n</tool_call>";

Json body_with(Json more) {
  Json body{{"messages", Json::array({{{"role", "user"}, {"content", "Hello"}}})},
            {"tools", Json::array({kTool})}};
  body.update(more);
  return body;
}
ChatRequest parsed(const Json& body,
                   Parsed (*parse)(const Json&, const Defaults&, ChatRequest&) = parse_chat) {
  ChatRequest request;
  const auto error = parse(body, {}, request);
  EXPECT_FALSE(error) << error->param << " " << error->message;
  return request;
}
std::string fault(const Json& body) {
  ChatRequest request;
  const auto error = parse_chat(body, {}, request);
  return error ? error->param : "";
}

TEST(Tools, are_read_in_each_interfaces_own_form) {
  Json plain = kFunction;
  plain["type"] = "function";
  Json anthropic{{"name", "find_pet"},
                 {"description", "Who keeps it?"},
                 {"input_schema", kFunction["parameters"]}};
  const std::vector<ChatRequest> all = {
      parsed(body_with(Json::object())),
      parsed(body_with({{"input", "Hello"}, {"tools", Json::array({plain})}}), parse_response),
      parsed(body_with({{"max_tokens", 9}, {"tools", Json::array({anthropic})}}), parse_messages)};
  for (const ChatRequest& request : all) {
    ASSERT_EQ(request.tools.size(), 1u);
    EXPECT_EQ(request.tools[0].name, "find_pet");
    EXPECT_EQ(request.tools[0].description, "Who keeps it?");
    EXPECT_EQ(request.tools[0].parameters, kFunction["parameters"].dump());
  }
}

TEST(Tools, a_choice_is_one_of_those_that_clients_know) {
  const auto chosen = [](const Json& choice) {
    return parsed(body_with({{"tool_choice", choice}})).tool_choice;
  };
  EXPECT_EQ(chosen("auto").calls, Calls::may);
  EXPECT_EQ(chosen("none").calls, Calls::none);
  EXPECT_EQ(chosen("required").calls, Calls::must);
  EXPECT_EQ(chosen({{"type", "any"}}).calls, Calls::must);
  const ToolChoice named = chosen({{"type", "function"}, {"function", {{"name", "find_pet"}}}});
  EXPECT_EQ(named.calls, Calls::must);
  EXPECT_EQ(named.name, "find_pet");
  EXPECT_TRUE(named.is_one);
  EXPECT_EQ(chosen({{"type", "tool"}, {"name", "find_pet"}}).name, "find_pet");
  EXPECT_TRUE(chosen({{"type", "auto"}, {"disable_parallel_tool_use", true}}).is_one);
  EXPECT_TRUE(parsed(body_with({{"parallel_tool_calls", false}})).tool_choice.is_one);
}

TEST(Tools, what_is_wrong_with_them_is_named) {
  EXPECT_EQ(fault(body_with({{"tools", 3}})), "tools");
  EXPECT_EQ(fault(body_with({{"tools", Json::array({{{"type", "function"}}})}})), "tools[0].name");
  EXPECT_EQ(fault(body_with({{"tools", Json::array({{{"type", "web_search"}}})}})),
            "tools[0].type");
  EXPECT_EQ(fault(body_with({{"tools", Json::array({kTool, kTool})}})), "tools[1].function.name");
  EXPECT_EQ(fault(body_with({{"tool_choice", "sometimes"}})), "tool_choice");
  EXPECT_EQ(fault(body_with({{"tool_choice", {{"type", "function"}, {"name", "other"}}}})),
            "tool_choice");
  EXPECT_EQ(fault(body_with({{"tools", Json::array()}, {"tool_choice", "required"}})),
            "tool_choice");
  Json bad = kTool;
  bad["function"]["parameters"]["properties"]["pet"]["not"] = Json::object();
  const Json body = body_with({{"tools", Json::array({bad})}});
  ChatRequest request = parsed(body);
  const auto error = compile_shape(request);
  ASSERT_TRUE(error);
  EXPECT_EQ(error->param, "tools");
  EXPECT_NE(error->message.find("Tool \"find_pet\": In the schema at #/properties/pet"),
            std::string::npos)
      << error->message;
}

TEST(Tools, calls_and_results_go_back_into_the_prompt_as_the_model_wrote_them) {
  const Json call{{"id", "call_1"},
                  {"type", "function"},
                  {"function", {{"name", "find_pet"}, {"arguments", "{\"pet\":\"cat\"}"}}}};
  const Json list =
      Json::array({{{"role", "user"}, {"content", "Who?"}},
                   {{"role", "assistant"}, {"content", nullptr}, {"tool_calls", {call, call}}},
                   {{"role", "tool"}, {"tool_call_id", "call_1"}, {"content", "Anna"}},
                   {{"role", "tool"}, {"tool_call_id", "call_2"}, {"content", "Bruno"}}});
  const ChatRequest chat = parsed(body_with({{"messages", list}}));
  ASSERT_EQ(chat.messages.size(), 3u);
  EXPECT_EQ(chat.messages[1].text, kCall + "\n" + kCall);
  EXPECT_EQ(chat.messages[2].role, runtime::Role::user);
  EXPECT_EQ(chat.messages[2].text,
            "<tool_response>\nAnna\n</tool_response>\n<tool_response>\nBruno\n</tool_response>");
  EXPECT_TRUE(chat.ignored.empty());

  const Json use{
      {"type", "tool_use"}, {"id", "1"}, {"name", "find_pet"}, {"input", {{"pet", "cat"}}}};
  const Json blocks = Json::array(
      {{{"role", "user"}, {"content", "Who?"}},
       {{"role", "assistant"}, {"content", {{{"type", "text"}, {"text", "Let me see."}}, use}}},
       {{"role", "user"},
        {"content",
         {{{"type", "tool_result"}, {"tool_use_id", "1"}, {"content", "Anna"}},
          {{"type", "tool_result"},
           {"tool_use_id", "2"},
           {"is_error", true},
           {"content", {{{"type", "text"}, {"text", "no"}}}}},
          {{"type", "text"}, {"text", "And now?"}}}}}});
  const ChatRequest message =
      parsed(body_with({{"messages", blocks}, {"max_tokens", 9}, {"tools", Json::array()}}),
             parse_messages);
  ASSERT_EQ(message.messages.size(), 3u);
  EXPECT_EQ(message.messages[1].text, "Let me see.\n" + kCall);
  EXPECT_EQ(message.messages[2].text,
            "<tool_response>\nAnna\n</tool_response>\n<tool_response>\nError: no\n</tool_response>"
            "\nAnd now?");

  const Json items =
      Json::array({{{"role", "user"}, {"content", "Who?"}},
                   {{"type", "function_call"},
                    {"call_id", "1"},
                    {"name", "find_pet"},
                    {"arguments", "{\"pet\": \"cat\"}"}},
                   {{"type", "function_call_output"}, {"call_id", "1"}, {"output", "Anna"}}});
  const ChatRequest response =
      parsed(body_with({{"input", items}, {"tools", Json::array()}}), parse_response);
  ASSERT_EQ(response.messages.size(), 3u);
  EXPECT_EQ(response.messages[1].text, kCall);
  EXPECT_EQ(response.messages[2].text, "<tool_response>\nAnna\n</tool_response>");
}

TEST(Tools, a_call_is_the_same_however_it_is_spaced_and_ordered) {
  const std::string spaced =
      "Well. \n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1, \"b\": [2]}}\n</tool_call>";
  EXPECT_TRUE(is_same_text(spaced, "Well.\n" + call_text("f", R"({"b":[2],"a":1})")));
  EXPECT_FALSE(is_same_text(spaced, "Well.\n" + call_text("f", R"({"b":[2],"a":2})")));
  EXPECT_FALSE(is_same_text(spaced, "Well.\n" + call_text("g", R"({"b":[2],"a":1})")));
  EXPECT_FALSE(is_same_text(spaced, call_text("f", R"({"b":[2],"a":1})")));
  EXPECT_FALSE(is_same_text("a ", "a")) << "without calls every byte counts";
}

TEST(CallReader, finds_calls_wherever_the_stream_is_cut) {
  const std::string whole = "Let me\nsee.\n" + kCall + "\n" + kCall + "\n";
  for (std::size_t step = 1; step < whole.size(); ++step) {
    CallReader reader(true);
    std::string said;
    std::vector<ToolCall> calls;
    const auto take = [&](CallReader::Read read) {
      said += read.said;
      for (ToolCall& call : read.calls) calls.push_back(std::move(call));
    };
    for (std::size_t at = 0; at < whole.size(); at += step)
      take(reader.push(whole.substr(at, step)));
    take(reader.finish());
    EXPECT_EQ(said, "Let me\nsee.") << step;
    ASSERT_EQ(calls.size(), 2u) << step;
    EXPECT_EQ(calls[1].name, "find_pet");
    EXPECT_EQ(calls[1].arguments, "{\"pet\":\"cat\"}");
    EXPECT_NE(calls[0].id, calls[1].id);
  }
}

TEST(CallReader, what_is_no_call_is_text) {
  const auto all = [](const std::string& text, bool reads = true) {
    CallReader reader(reads);
    CallReader::Read read = reader.push(text);
    EXPECT_TRUE(read.calls.empty());
    return read.said + reader.finish().said;
  };
  for (const char* text :
       {"a < b", "<tool", "ends with space \n", "<tool_call>\nnonsense\n</tool_call>!",
        "<tool_call>\n{\"name\": \"f\"", "<tool_call>{\"name\": 3}</tool_call>"})
    EXPECT_EQ(all(text), text);
  EXPECT_EQ(all(kCall, false), kCall) << "without tools nothing is read";
}

}  // namespace
}  // namespace satchel::serve
