#include "app/serve/response_ids.h"

#include <gtest/gtest.h>

namespace satchel::serve {
namespace {
using runtime::Role;

const Said kNote{.role = Role::user, .text = "Anna keeps three parrots."},
    kNoted{.role = Role::assistant, .text = "Noted."},
    kQuestion{.role = Role::user, .text = "What does Anna keep?"};
const std::string kWhole = "{\"output\": []}";

// A chat of this session that a request has begun and that was answered.
struct Answered {
  explicit Answered(const std::string& body) {
    Json document;
    EXPECT_FALSE(parse_body(body, document));
    EXPECT_FALSE(parse_response(document, {}, request));
    write_calls(request);
    chats.emplace_back();
    set_id(chats.back(), "mine");
    chats.back().system = request.system;
    chats.back().said = request.messages;
    chats.back().said.push_back(kNoted);
    id = ResponseIds::make("mine", request);
    ids.keep(id, kNoted.text, kWhole);
  }
  bool follow(ChatRequest& next) const { return ids.recall(chats, next); }
  bool is_known() const {
    ChatRequest next;
    next.previous = id;
    return follow(next);
  }

  ChatRequest request;
  std::list<KnownChat> chats;
  ResponseIds ids;
  std::string id;
};

ChatRequest parsed(Json body, const std::string& previous) {
  ChatRequest request;
  body["previous_response_id"] = previous;
  EXPECT_FALSE(parse_response(body, {}, request));
  return request;
}

TEST(ResponseIds, what_went_before_comes_before_what_is_new) {
  Answered was(R"({"input": "Anna keeps three parrots."})");
  was.chats.back().group = "birds";
  ChatRequest next = parsed({{"input", kQuestion.text}}, was.id);
  ASSERT_TRUE(was.follow(next));
  EXPECT_EQ(next.messages, (std::vector<Said>{kNote, kNoted, kQuestion}));
  EXPECT_EQ(next.group, "birds");
  EXPECT_FALSE(next.system);
  // What the chat had later is not this response's.
  was.chats.back().said.push_back(kQuestion);
  was.chats.back().said.push_back({.role = Role::assistant, .text = "Parrots."});
  next = parsed({{"input", "And Bruno?"}}, was.id);
  ASSERT_TRUE(was.follow(next));
  EXPECT_EQ(next.messages,
            (std::vector<Said>{kNote, kNoted, {.role = Role::user, .text = "And Bruno?"}}));
}

TEST(ResponseIds, an_id_means_one_chat_as_it_was) {
  const std::string body = R"({"input": "Anna keeps three parrots."})";
  EXPECT_TRUE(Answered(body).is_known());
  const auto refused = [&](auto change) {
    Answered was(body);
    change(was);
    return !was.is_known();
  };
  EXPECT_TRUE(refused([](Answered& was) { set_id(was.chats.back(), "yours"); }));
  EXPECT_TRUE(refused([](Answered& was) { was.chats.back().system = "Be brief."; }));
  EXPECT_TRUE(refused([](Answered& was) { was.chats.back().said[0].text += "!"; }));
  EXPECT_TRUE(refused([](Answered& was) { was.chats.back().said[0].role = Role::assistant; }));
  EXPECT_TRUE(refused([](Answered& was) { was.chats.back().said[1].text = "Another answer."; }));
  EXPECT_TRUE(refused([](Answered& was) { was.chats.back().said.resize(1); }));
  EXPECT_TRUE(refused([](Answered& was) { was.chats.back().said.clear(); }));
  EXPECT_TRUE(refused([](Answered& was) { was.chats.clear(); }));
}

TEST(ResponseIds, no_part_of_an_id_can_be_changed_but_its_random_end) {
  Answered was(R"({"input": "Anna keeps three parrots.", "instructions": "Be brief."})");
  const std::string id = was.id;
  EXPECT_NE(ResponseIds::make("mine", was.request), id);
  for (std::size_t i = 0; i + 8 < id.size(); ++i)
    for (const char c : {'x', id[i] == '1' ? '2' : '1'}) {
      was.id = id;
      was.id[i] = c;
      EXPECT_FALSE(was.is_known()) << was.id;
    }
  for (const std::string& other : {std::string(), std::string("resp_1"), id + "0", id.substr(1)}) {
    was.id = other;
    EXPECT_FALSE(was.is_known()) << other;
  }
}

TEST(ResponseIds, system_texts_of_the_input_are_inherited_and_instructions_are_not) {
  const auto system_after = [](const Answered& was, const Json& next) {
    ChatRequest request = parsed(next, was.id);
    EXPECT_TRUE(was.follow(request));
    EXPECT_EQ(request.system.value_or("").substr(request.system_own),
              request.system.value_or("").substr(request.system_own, request.system_end));
    return request.system.value_or("none");
  };
  const Json plain{{"input", "More."}}, told{{"input", "More."}, {"instructions", "C"}};
  const Json both{{"instructions", "C"},
                  {"input", Json::array({{{"role", "developer"}, {"content", "D"}},
                                         {{"role", "user"}, {"content", "More."}}})}};
  const Answered none(R"({"input": "Hello"})");
  EXPECT_EQ(system_after(none, plain), "none");
  EXPECT_EQ(system_after(none, told), "C");
  EXPECT_EQ(system_after(none, both), "C\n\nD");
  const Answered own(R"({"input": "Hello", "instructions": "A"})");
  EXPECT_EQ(system_after(own, plain), "none");
  EXPECT_EQ(system_after(own, told), "C");
  const std::string input =
      R"("input": [{"role": "system", "content": "B"}, {"role": "user", "content": "Hello"}])";
  for (const std::string& body : {"{" + input + "}", R"({"instructions": "A", )" + input + "}"}) {
    const Answered with(body);
    EXPECT_EQ(system_after(with, plain), "B");
    EXPECT_EQ(system_after(with, told), "C\n\nB");
    EXPECT_EQ(system_after(with, both), "C\n\nB\n\nD");
  }
}

TEST(ResponseIds, calls_are_the_same_however_they_are_spaced) {
  Answered was(R"({"input": [{"role": "user", "content": "a"}, {"type": "function_call",
      "name": "f", "arguments": "{\"a\": 1, \"b\": 2}"}, {"type": "function_call_output",
      "output": "3"}]})");
  std::string& call = was.chats.back().said[1].text;
  call.replace(call.find("\"a\": 1, \"b\": 2"), 14, "\"b\":2,\"a\":1");
  EXPECT_TRUE(was.is_known());
}

TEST(ResponseIds, of_older_answers_only_the_place_is_known) {
  Answered was(R"({"input": "Anna keeps three parrots."})");
  for (std::size_t i = 1; i < ResponseIds::kAnswersMax; ++i)
    was.ids.keep("resp_" + std::to_string(i), "", "");
  was.chats.back().said[1].text = "Another answer.";
  EXPECT_FALSE(was.is_known());
  was.ids.keep("resp_last", "", "");
  EXPECT_TRUE(was.is_known());
  was.chats.back().said.resize(1);  // without one it is none
  EXPECT_FALSE(was.is_known());
}

TEST(ResponseIds, a_response_is_kept_whole_as_long_as_its_chat_has_it_and_there_is_room) {
  Answered was(R"({"input": "Anna keeps three parrots."})");
  EXPECT_EQ(was.ids.response(was.chats, was.id), kWhole);
  EXPECT_EQ(was.ids.response(was.chats, "resp_1"), "");
  const std::string half(ResponseIds::kResponseBytesMax / 2, 'x');
  was.ids.keep("resp_1", "", half);
  EXPECT_EQ(was.ids.response(was.chats, was.id), kWhole);
  was.ids.keep("resp_2", "", half);
  EXPECT_EQ(was.ids.response(was.chats, was.id), "");
  EXPECT_TRUE(was.is_known()) << "it can be followed all the same";
  was.ids.keep("resp_3", "", half + half + half);
  const std::string id = ResponseIds::make("mine", was.request);
  was.ids.keep(id, kNoted.text, kWhole);
  EXPECT_EQ(was.ids.response(was.chats, id), kWhole);
  was.chats.back().said[1].text = "Another answer.";
  EXPECT_EQ(was.ids.response(was.chats, id), "");
}

}  // namespace
}  // namespace satchel::serve
