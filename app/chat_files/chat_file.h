// Chats as files: written and read back as JSON or Markdown, without loss of words; and read from
// the exports of ChatGPT and Open WebUI.
//   holds    words, roles, kinds, titles, states and the system prompt. Not the cache, and no token
//            ids: a chat that is read back is read anew by its model
//   markdown `<!-- satchel: ROLE … -->` before each message says what Markdown cannot; a line of a
//            text that begins like that gets a backslash
//   errors   CHAT_FILE (corrupt): what is wrong, and where
//   source   the formats as their programs write them in 2026: conversations.json of ChatGPT,
//            "Export chats" of Open WebUI
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"
#include "runtime/contract/journal.h"

namespace satchel::app {

struct ChatFile {
  struct Message {
    runtime::Role role = runtime::Role::user;
    runtime::MessageKind kind = runtime::MessageKind::text;
    runtime::MessageState state = runtime::MessageState::complete;
    std::string title = {};  // of a document
    std::string text = {};
    friend bool operator==(const Message&, const Message&) = default;
  };
  std::string title;
  std::optional<std::string> system = {};  // none: the template's own
  std::vector<Message> messages = {};
  friend bool operator==(const ChatFile&, const ChatFile&) = default;
};

std::string to_json_text(const ChatFile& chat);
std::string to_markdown(const ChatFile& chat);
// All chats of a text in any of the four formats. Chats without a message are left out.
//   called  for messages: the file's name
Result<std::vector<ChatFile>> read_chat_files(std::string_view text, std::string_view called);

}  // namespace satchel::app
