// Chats as files: what is written comes back, and what other programs wrote is read.
#include "app/chat_files/chat_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace satchel::app {
namespace {

using runtime::MessageKind;
using runtime::MessageState;
using runtime::Role;
using testing::HasSubstr;

ChatFile sample() {
  return {
      .title = "Harbour # notes",
      .system = "Be brief.\n",
      .messages = {
          {.kind = MessageKind::document, .title = "a --> b \"c\".txt", .text = "line\n\n\n"},
          {.role = Role::assistant, .text = "Noted."},
          {.text = "## You\n\n<!-- satchel: {\"role\": \"user\"} -->\n\\<!-- satchel: x\n\\\\ y"},
          {.role = Role::assistant,
           .state = MessageState::interrupted,
           .text = "\n  ends with spaces  \n"},
          {.text = ""},
          {.role = Role::assistant, .text = "Ü — \xF0\x9F\x9A\xA2"}}};
}

TEST(ChatFile, comes_back_from_either_format_word_for_word) {
  for (const auto& write : {to_json_text, to_markdown}) {
    const std::string text = write(sample());
    const auto read = read_chat_files(text, "chat");
    ASSERT_TRUE(read.ok()) << read.error().message << "\n" << text;
    ASSERT_EQ(read->size(), 1u);
    EXPECT_EQ(read->front(), sample()) << text;
    EXPECT_EQ(write(read->front()), text);
  }
}

TEST(ChatFile, of_a_chat_without_a_system_prompt_has_none) {
  ChatFile chat = sample();
  chat.system.reset();
  for (const auto& write : {to_json_text, to_markdown})
    EXPECT_EQ(read_chat_files(write(chat), "chat")->front(), chat);
}

TEST(ChatFile, is_read_from_chatgpts_export_along_the_path_that_was_shown) {
  const auto read = read_chat_files(R"([{"title": "Trip", "current_node": "d", "mapping": {
    "a": {"message": null, "parent": null},
    "b": {"parent": "a", "message": {"author": {"role": "system"},
          "content": {"content_type": "text", "parts": [""]}}},
    "c": {"parent": "b", "message": {"author": {"role": "user"},
          "content": {"content_type": "multimodal_text", "parts": [{"image": 1}, "Where to?"]}}},
    "x": {"parent": "c", "message": {"author": {"role": "assistant"},
          "content": {"content_type": "text", "parts": ["an answer of before"]}}},
    "t": {"parent": "c", "message": {"author": {"role": "tool"},
          "content": {"content_type": "text", "parts": ["searched"]}}},
    "d": {"parent": "t", "message": {"author": {"role": "assistant"},
          "content": {"content_type": "text", "parts": ["To the sea.", "Soon."]}}}}},
    {"title": "empty", "current_node": "a", "mapping": {"a": {"parent": "a"}}}])",
                                    "conversations.json");
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read->size(), 1u);
  EXPECT_EQ(read->front(),
            (ChatFile{.title = "Trip",
                      .messages = {{.text = "Where to?"},
                                   {.role = Role::assistant, .text = "To the sea.\nSoon."}}}));
}

TEST(ChatFile, is_read_from_open_webuis_export) {
  const auto read = read_chat_files(R"([{"id": "1", "title": "outer", "chat": {"title": "Soup",
    "history": {"currentId": "3", "messages": {
      "1": {"id": "1", "parentId": null, "role": "user", "content": "A recipe?"},
      "2": {"id": "2", "parentId": "1", "role": "assistant", "content": "regenerated away"},
      "3": {"id": "3", "parentId": "1", "role": "assistant", "content": "Boil water."}}}}}])",
                                    "export.json");
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read->size(), 1u);
  EXPECT_EQ(read->front().title, "Soup");
  ASSERT_EQ(read->front().messages.size(), 2u);
  EXPECT_EQ(read->front().messages[1].text, "Boil water.");
}

TEST(ChatFile, that_is_something_else_says_so) {
  const auto message = [](std::string_view text) {
    const auto read = read_chat_files(text, "f.txt");
    return read.ok() ? std::string("read") : read.error().code + " " + read.error().message;
  };
  EXPECT_THAT(message("just text"), HasSubstr("CHAT_FILE \"f.txt\" is no chat"));
  EXPECT_THAT(message(""), HasSubstr("is no chat"));
  EXPECT_THAT(message("{\"satchel_chat\": 1"), HasSubstr("is not whole"));
  EXPECT_THAT(message("[1]"), HasSubstr("no chat"));
  EXPECT_THAT(message("{\"a\": 1}"), HasSubstr("satchel_chat"));
  EXPECT_THAT(message("{\"satchel_chat\": 2}"), HasSubstr("satchel_chat"));
  EXPECT_THAT(message("{\"satchel_chat\": 1}"), HasSubstr("without \"messages\""));
  EXPECT_THAT(message(R"({"satchel_chat": 1, "messages": [{"role": "robot", "text": "x"}]})"),
              HasSubstr("role"));
  EXPECT_THAT(message(R"({"satchel_chat": 1, "messages": [{"role": "user", "content": "x"}]})"),
              HasSubstr("without \"text\""));
  EXPECT_THAT(message("<!-- satchel: {\"role\": \"user\""), HasSubstr("does not end"));
  EXPECT_THAT(message("<!-- satchel: nonsense -->"), HasSubstr("role"));
}

TEST(ChatFile, that_nests_without_end_is_refused) {
  constexpr std::size_t kDeep = 200'000;
  const std::string nested = std::string(kDeep, '[') + std::string(kDeep, ']');
  EXPECT_FALSE(read_chat_files(nested, "f").ok());
  EXPECT_FALSE(read_chat_files("[{\"mapping\": " + nested + "}, 1]", "f").ok());
  EXPECT_FALSE(read_chat_files("<!-- satchel: " + nested + " -->", "f").ok());
  const auto parts = read_chat_files(
      R"({"current_node": "a", "mapping": {"a": {"message": {"author": {"role": "user"}, "content":
      {"content_type": "text", "parts": )" +
          nested + "}}}}}",
      "f");
  ASSERT_TRUE(parts.ok());
  EXPECT_TRUE(parts->empty());
}

TEST(ChatFile, has_its_system_prompt_apart_from_the_messages_in_either_format) {
  const auto json = read_chat_files(R"({"satchel_chat": 1, "messages": [
    {"role": "system", "text": "Be brief."}, {"role": "user", "text": "Where to?"}]})",
                                    "f");
  ASSERT_TRUE(json.ok());
  const ChatFile same{.title = "", .system = "Be brief.", .messages = {{.text = "Where to?"}}};
  EXPECT_EQ(json->front(), same);
  EXPECT_EQ(read_chat_files(to_markdown(same), "f")->front(), same);
}

// No input ends the program.
TEST(ChatFile, that_was_cut_or_changed_anywhere_is_read_or_refused) {
  for (const auto& write : {to_json_text, to_markdown}) {
    const std::string whole = write(sample());
    for (std::size_t n = 0; n < whole.size(); ++n) {
      (void)read_chat_files(std::string_view(whole).substr(0, n), "f");
      std::string changed = whole;
      changed[n] = static_cast<char>(changed[n] ^ 0x15);
      (void)read_chat_files(changed, "f");
    }
  }
}

}  // namespace
}  // namespace satchel::app
