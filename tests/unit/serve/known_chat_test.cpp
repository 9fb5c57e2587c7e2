#include "app/serve/known_chat.h"

#include <gtest/gtest.h>

namespace satchel::serve {
namespace {
using runtime::Role;

std::vector<Said> said(std::initializer_list<const char*> texts) {
  std::vector<Said> out;
  for (const char* text : texts)
    out.push_back({.role = out.size() % 2 == 0 ? Role::user : Role::assistant, .text = text});
  return out;
}
KnownChat chat(const char* id, std::vector<Said> words) {
  KnownChat out;
  out.id = id;
  out.said = std::move(words);
  return out;
}
std::string match(std::list<KnownChat> chats, const ChatRequest& request,
                  const std::string& recipe = "") {
  const KnownChat* found = best_match(chats, {request, recipe});
  return found == nullptr ? "" : found->id;
}

TEST(KnownChat, the_longest_that_the_request_begins_with_is_found) {
  ChatRequest request;
  request.messages = said({"a", "b", "c", "d", "e"});
  EXPECT_EQ(match({chat("1", said({"a", "b"})), chat("2", said({"a", "b", "c", "d"})),
                   chat("3", said({"a", "x"}))},
                  request),
            "2");
  EXPECT_EQ(match({chat("1", said({"x", "b"}))}, request), "");
  EXPECT_EQ(match({}, request), "");
}

TEST(KnownChat, one_that_has_more_is_taken_only_where_none_fits_as_well) {
  ChatRequest request;
  request.messages = said({"a", "b", "c"});
  const KnownChat whole = chat("whole", said({"a", "b"})),
                  other = chat("other", said({"a", "b", "x"}));
  EXPECT_EQ(match({whole, other}, request), "whole");
  EXPECT_EQ(match({other, whole}, request), "whole");
  EXPECT_EQ(match({other}, request), "other");
}

TEST(KnownChat, nothing_that_is_only_like_it_matches) {
  ChatRequest request;
  request.messages = said({"Hello", "b", "c"});
  for (const char* like : {"hello", "Hello ", " Hello", "Hell", "Hello\n", ""})
    EXPECT_EQ(match({chat("1", said({like, "b"}))}, request), "") << like;
  KnownChat swapped = chat("1", said({"Hello"}));
  swapped.said[0].role = Role::assistant;
  EXPECT_EQ(match({swapped}, request), "");
}

TEST(KnownChat, a_text_that_spells_a_result_is_none) {
  ChatRequest request;
  request.form = &runtime::tool_form("harmony");
  request.messages = said({"a", "b", "c"});
  const std::vector<ToolResult> results = {{.call_id = "", .text = "r", .name = "f"}};
  const runtime::MarkedText came = request.form->results(results);
  KnownChat one = chat("1", said({"a"}));
  one.said[0] = {.role = Role::user, .text = came.text, .marks = came.marks};
  request.messages[0].text = came.text;
  EXPECT_EQ(match({one}, request), "");
  request.messages[0].marks = came.marks;
  EXPECT_EQ(match({one}, request), "1");
  one.said[0] = {.role = Role::user, .text = came.text, .knows_marks = false};
  EXPECT_EQ(match({one}, request), "1") << "a store keeps none";
  one.system = request.system = "s";
  one.system_marks = came.marks;
  EXPECT_EQ(match({one}, request), "");
}

TEST(KnownChat, another_system_text_group_or_recipe_is_another_chat) {
  ChatRequest request;
  request.messages = said({"a", "b", "c"});
  KnownChat one = chat("1", said({"a", "b"}));
  one.recipe = "{}";
  EXPECT_EQ(match({one}, request, "{}"), "1");
  EXPECT_EQ(match({one}, request, "{1}"), "");
  KnownChat with_system = one;
  with_system.system = "";  // no text is not the template's own
  EXPECT_EQ(match({with_system}, request), "");
  KnownChat grouped = one;
  grouped.group = "g";
  EXPECT_EQ(match({grouped}, request), "");
  request.group = "g";
  EXPECT_EQ(match({grouped}, request), "1");
}

TEST(KnownChat, a_short_one_that_is_taken_is_waited_for_where_its_client_has_left) {
  ChatRequest request;
  request.messages = said({"a", "b", "c"});
  KnownChat taken = chat("taken", said({"a", "b", "c"}));
  const KnownChat older = chat("older", said({"a", "x"}));
  std::stop_source client;
  taken.is_taken = true;
  taken.client = client.get_token();
  EXPECT_EQ(match({taken, older}, request), "older");
  client.request_stop();
  EXPECT_EQ(match({taken, older}, request), "taken");
  taken.client = {};
  taken.said[0].text = request.messages[0].text = std::string(1024, 'a');
  EXPECT_EQ(match({taken, older}, request), "taken");  // much text is waited for anyway
}

TEST(KnownChat, a_name_keeps_id_and_group) {
  KnownChat one = chat("an-id", {}), back;
  one.group = "its-group";
  read_name(name_of(one), back);
  EXPECT_EQ(back.id, one.id);
  EXPECT_EQ(back.group, one.group);
  read_name("holiday", back);
  EXPECT_EQ(back.id, "holiday");
  EXPECT_EQ(back.group, "");
  EXPECT_NE(fresh_id("chat-"), fresh_id("chat-"));
  EXPECT_TRUE(is_session_id(fresh_id("chat-")));
}

}  // namespace
}  // namespace satchel::serve
