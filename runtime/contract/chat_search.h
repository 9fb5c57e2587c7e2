// A passage looked for in all chats of a store, and found.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "runtime/contract/journal.h"

namespace satchel::runtime {

struct SearchQuery {
  // Words that a message has all of, in any order and form of letter (case, accents); the last one
  // may be a beginning. What stands in "…" is found as it stands there.
  std::string words;
  std::size_t n_most = 20;
};
struct Found {
  ChatId chat;
  std::string chat_name;
  MessageId message;     // 0: the chat's title
  std::string role;      // "user", "assistant", "system"; "": the title
  std::string document;  // title of the document that the message is; "": it is none
  std::string passage;   // some words around the first hits
  // Of the passage, what was found: bytes from, to.
  std::vector<std::pair<std::size_t, std::size_t>> hits;
};

}  // namespace satchel::runtime
