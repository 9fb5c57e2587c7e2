// SessionMessage: one message of a chat as its session holds it. Its words are the journal's.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "runtime/contract/journal.h"

namespace satchel::runtime {

struct SessionMessage {
  MessageId id;  // the journal's; without a journal counted from 1
  Role role = Role::user;
  MessageKind kind = MessageKind::text;
  MessageState state = MessageState::complete;
  std::string title;               // of a document
  std::size_t begin = 0, end = 0;  // in Session::tokens(); of a damaged one only the template's
};

// The stored, not generated, answer to a document.
inline constexpr std::string_view kNoted = "Noted.";
struct DocumentIds {
  MessageId document, answer;
};

// What an error may promise: "The chat is kept. ", or "" where there is no journal.
inline const char* kept_text(const Journal* journal) {
  return journal != nullptr ? "The chat is kept. " : "";
}

}  // namespace satchel::runtime
