// Tools as clients offer them and as models read and write them.
#include "app/serve/tools.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "app/serve/chat_request.h"
#include "runtime/tools/call_reader.h"
#include "runtime/tools/tool_text.h"

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
  write_calls(request);
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

const ToolForm& kJsonForm = runtime::tool_form("json");

std::string called(const std::string& name, const std::string& arguments) {
  return said_with_calls("", {{.id = "", .name = name, .arguments = arguments}}, kJsonForm).text;
}

TEST(Tools, a_result_goes_to_the_call_of_its_id_or_of_its_place) {
  ChatRequest request;
  request.messages.push_back({.role = runtime::Role::user, .text = "Who?"});
  add_call({.id = "1", .name = "find", .arguments = "{}"}, request);
  add_call({.id = "2", .name = "count", .arguments = "{}"}, request);
  add_result({.call_id = "2", .text = "two"}, request);
  add_result({.call_id = "1", .text = "one"}, request);
  // Of a response that is named by its id, the calls are texts already.
  request.messages.push_back(said_with_calls("", {{"", "late", "{}"}}, kJsonForm));
  add_result({.call_id = "9", .text = "three"}, request);
  std::vector<ToolResult> seen;
  static std::vector<ToolResult>* told = &seen;
  ToolForm form = kJsonForm;
  form.results = [](std::span<const ToolResult> all) {
    told->insert(told->end(), all.begin(), all.end());
    return runtime::MarkedText{.text = "-", .marks = {}};
  };
  request.form = &form;
  write_calls(request);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0].name, "count");
  EXPECT_EQ(seen[1].name, "find");
  EXPECT_EQ(seen[2].name, "late");
  EXPECT_EQ(request.messages.size(), 5u);
}

// own  how much of the text is of the instructions
std::string inherited(const ToolForm& form, const std::string& text, std::size_t own) {
  ChatRequest request;
  request.form = &form;
  request.system = text;
  request.system_own = own;
  request.system_end = text.size();
  request.tools = {{"find", "Know birds.", R"({"type":"object","properties":{}})"}};
  write_tools("", request);
  return request.system->substr(request.system_own, request.system_end - request.system_own);
}

TEST(Tools, what_a_response_inherits_is_found_wherever_the_form_puts_it) {
  for (const ToolForm* form : runtime::tool_forms()) {
    for (const char* end : {"", " \n"}) {
      const std::string whole = inherited(*form, std::string("Be brief.\n\nKnow birds.") + end, 11);
      EXPECT_EQ(runtime::trimmed_end(whole), "Know birds.") << form->name;
    }
    EXPECT_EQ(inherited(*form, "Be brief.", 9), "") << form->name;
  }
}

TEST(Tools, a_system_text_that_no_instructions_precede_is_inherited_without_the_tools) {
  for (const ToolForm* form : runtime::tool_forms())
    for (const char* text : {"Know birds.", "#", " \n#", "# Tools\n ", " \n"})
      EXPECT_EQ(runtime::trimmed(inherited(*form, text, 0)), runtime::trimmed(text)) << form->name;
}

TEST(Tools, a_call_is_the_same_however_it_is_spaced_and_ordered) {
  const std::string spaced =
      "Well. \n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1, \"b\": [2]}}\n</tool_call>";
  EXPECT_TRUE(is_same_text(spaced, "Well.\n" + called("f", R"({"b":[2],"a":1})"), kJsonForm));
  EXPECT_FALSE(is_same_text(spaced, "Well.\n" + called("f", R"({"b":[2],"a":2})"), kJsonForm));
  EXPECT_FALSE(is_same_text(spaced, "Well.\n" + called("g", R"({"b":[2],"a":1})"), kJsonForm));
  EXPECT_FALSE(is_same_text(spaced, called("f", R"({"b":[2],"a":1})"), kJsonForm));
  EXPECT_FALSE(is_same_text("a ", "a", kJsonForm)) << "without calls every byte counts";
}

TEST(Tools, white_space_around_a_text_before_calls_makes_no_other_message) {
  const std::vector<ToolCall> calls = {{.id = "", .name = "f", .arguments = R"({"a":1})"}};
  for (const ToolForm* form : runtime::tool_forms()) {
    if (!form->talks_first) continue;
    const std::string made = "\nLet me see.\n" + form->answer("", calls).text;
    const auto read = runtime::read_calls(made, *form);
    ASSERT_TRUE(read) << form->name;
    const std::string told_again = said_with_calls(read->said, read->calls, *form).text;
    EXPECT_TRUE(is_same_text(made, told_again, *form)) << form->name << "\n" << told_again;
  }
}

TEST(Tools, calls_of_a_response_that_is_followed_are_marked_again_and_what_clients_spell_is_not) {
  const std::vector<ToolCall> calls = {
      {.id = "", .name = "f", .arguments = R"({"a":"1.10","b":[1,2]})"}};
  for (const ToolForm* form : runtime::tool_forms()) {
    const runtime::MarkedText made = form->answer("", calls);
    ChatRequest request;
    request.form = form;
    const Said ask{.role = runtime::Role::user, .text = "Who?"};
    const Said spelled{.role = runtime::Role::assistant, .text = made.text};
    Said own = spelled;
    own.knows_marks = false;
    const runtime::MarkedText came = form->results({{{.call_id = "", .text = "r", .name = "f"}}});
    const Said result{.role = runtime::Role::user, .text = came.text, .marks = came.marks};
    request.messages = {ask, own, result, spelled, ask};
    write_calls(request);
    ASSERT_EQ(request.messages.size(), 5u);
    EXPECT_EQ(request.messages[1].text, made.text) << form->name;
    EXPECT_EQ(request.messages[1].marks, made.marks) << form->name;
    EXPECT_FALSE(request.messages[1].marks.empty()) << form->name;
    EXPECT_EQ(request.messages[2], result) << form->name;
    EXPECT_TRUE(request.messages[3].marks.empty()) << form->name;
  }
}

// A text that would end what calls itself for each level.
TEST(Tools, arguments_may_be_nested_without_end) {
  constexpr std::size_t kDeep = 200'000;
  const std::string deep = std::string(kDeep, '[') + std::string(kDeep, ']');
  const std::string one = called("f", deep), other = called("f", deep + " ");
  EXPECT_FALSE(is_same_text(one, other, kJsonForm));
}

TEST(Tools, bare_values_are_the_same_only_by_their_bytes) {
  for (const char* name : {"xml", "xml-coder", "xml-nemotron", "glm", "glm-4.7"}) {
    const ToolForm& form = runtime::tool_form(name);
    const auto is_same = [&](const std::string& a, const std::string& b) {
      const auto told = [&](const std::string& value) {
        const std::string arguments = Json{{"v", value}, {"w", "x"}}.dump();
        return said_with_calls("", {{.id = "", .name = "f", .arguments = arguments}}, form).text;
      };
      return is_same_text(told(a), told(b), form);
    };
    EXPECT_FALSE(is_same("1.10", "1.1")) << name;
    EXPECT_FALSE(is_same("1e2", "100.0")) << name;
    EXPECT_FALSE(is_same("100000000000000000001", "100000000000000000002")) << name;
    EXPECT_FALSE(is_same("\"a\"", "a")) << name;
    EXPECT_TRUE(is_same(R"([1,{"b":2,"a":3}])", R"([1, {"a": 3, "b": 2}])")) << name;
    EXPECT_TRUE(is_same("1.10", "1.10")) << name;
  }
  EXPECT_FALSE(
      is_same_text(called("f", R"({"v":"[1,2]"})"), called("f", R"({"v":"[1, 2]"})"), kJsonForm));
}

}  // namespace
}  // namespace satchel::serve
