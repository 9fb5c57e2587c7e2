// SessionMessage: one message of a chat as its session holds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/contract/journal.h"
#include "runtime/tokenizer/marked_text.h"

namespace satchel::runtime {

struct SessionMessage {
  MessageId id;  // the journal's; without a journal counted from 1
  Role role = Role::user;
  MessageKind kind = MessageKind::text;
  MessageState state = MessageState::complete;
  std::string title;               // of a document
  std::string text_hash = {};      // of a document that is not damaged: document_hash()
  std::string text = {};           // without a journal; else it has the words
  std::size_t begin = 0, end = 0;  // in Session::tokens(); of a damaged one only the template's
  bool is_pinned = false, is_forgotten = false;  // Marks
};

// A message that is to be added: the user's, or an answer given elsewhere.
struct MessageText {
  Role role = Role::user;
  std::string_view text;
  const TextMarks* marks = nullptr;  // nullptr: people or models said all of it
};

inline std::vector<MessageId> ids_of(std::span<const SessionMessage> messages) {
  std::vector<MessageId> ids;
  for (const SessionMessage& message : messages) ids.push_back(message.id);
  return ids;
}

// What a chat does at the end of the model's context.
enum class BeyondContext : std::uint8_t {
  ends,      // nothing more can be sent
  episodes,  // it goes on: older turns become episodes, fetched where a question needs them
};

// The stored, not generated, answer to a document.
inline constexpr std::string_view kNoted = "Noted.";
// Title of the document that says what each part of a long chat answered (Session::ask_all).
inline constexpr std::string_view kPartNotesTitle = "What each part says";
struct DocumentIds {
  MessageId document, answer;
};

// What an error may promise: "The chat is kept. ", or "" where there is no journal.
inline const char* kept_text(const Journal* journal) {
  return journal != nullptr ? "The chat is kept. " : "";
}

}  // namespace satchel::runtime
