// Journal: where a session commits messages: an interface, which storage implements over SQLite.
//   order   append the user's message -> infer -> append the answer as `streaming` -> extend … ->
//           finish. What append and finish return ok for survives a kill and a power cut; what
//           extend took survives after at most 250 ms or 32 tokens.
//   tokens  are the truth, not the text: the ids of a chat are the ids of its messages side by
//           side, template included
//   tree    each message has a parent, the one before it; a chat is the path from its first message
//           to its last one. Truncating makes an earlier message the last: what is cut stays in the
//           journal, and comes back by truncating to the message that was last
//   errors  storage (DISK_FULL, READ_ONLY, LIBRARY_LOCKED …); after an error nothing of that call
//           is stored
//   threads one call at a time
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"

namespace satchel::runtime {

struct ChatId {
  std::int64_t value = 0;
  friend auto operator<=>(const ChatId&, const ChatId&) = default;
};
struct MessageId {
  std::int64_t value = 0;
  friend auto operator<=>(const MessageId&, const MessageId&) = default;
};

enum class Role : std::uint8_t { system, user, assistant };
// interrupted: the program ended, or Stop was pressed, while the answer streamed; what had come is
// kept. damaged: what is stored fails its checksum and is not given out; never written.
enum class MessageState : std::uint8_t { complete, streaming, interrupted, damaged };
enum class MessageKind : std::uint8_t {
  text,
  document,  // read from a file, with a title; the stored answer to it is the next message
};

struct NewMessage {
  Role role = Role::user;
  MessageState state = MessageState::complete;
  std::string_view text;                 // UTF-8, as people read it
  std::span<const std::int32_t> tokens;  // as the model reads it, with the template's own tokens
  MessageKind kind = MessageKind::text;
  std::string_view title = {};  // of a document; the model does not read it
  std::uint64_t tokenizer = 0;  // Tokenizer::hash() of what made the tokens
};

struct StoredMessage {
  MessageId id;
  MessageId parent;  // 0: the first of its chat
  Role role = Role::user;
  MessageState state = MessageState::complete;
  MessageKind kind = MessageKind::text;
  std::string title, text;
  std::vector<std::int32_t> tokens;
  std::uint64_t tokenizer = 0;  // 0: unknown, the message is older than the hashes
  std::string model;  // where tokenizer is 0: fingerprint of the model of that time, or ""
  std::int64_t created_ms = 0;  // since 1970, UTC
};

// A message's place in the tree.
struct MessageLink {
  MessageId id, parent;  // parent 0: the first of its chat
  friend bool operator==(const MessageLink&, const MessageLink&) = default;
};

// A note (Journal::set_note) that is stored in one transaction with new messages.
struct NoteBeside {
  std::string_view name;
  std::function<std::string(std::span<const MessageId> ids)> text;  // of those messages
};

class Journal {
 public:
  virtual ~Journal() = default;
  // All of them or none, in one transaction; their ids in order.
  //   last    the chat's message that they follow, as after truncate(); 0: they are its first ones;
  //           not given: the last one
  //   note    nullptr: none
  //   needs   only the last of them may be `streaming`
  //   errors  those of truncate(), if `last` is given
  virtual Result<std::vector<MessageId>> append_behind(ChatId chat, std::optional<MessageId> last,
                                                       std::span<const NewMessage> messages,
                                                       const NoteBeside* note) = 0;
  Result<std::vector<MessageId>> append_all(ChatId chat, std::span<const NewMessage> messages) {
    return append_behind(chat, {}, messages, nullptr);
  }
  Result<MessageId> append(ChatId chat, const NewMessage& message) {
    SATCHEL_TRY_ASSIGN(const std::vector<MessageId> ids, append_all(chat, std::span(&message, 1)));
    return ids.front();
  }
  // Adds to a message that is `streaming`.
  virtual Result<void> extend(MessageId message, std::string_view text,
                              std::span<const std::int32_t> tokens) = 0;
  // Ends a `streaming` message, with `text` and `tokens` added first.
  virtual Result<void> finish(MessageId message, MessageState state, std::string_view text,
                              std::span<const std::int32_t> tokens) = 0;
  // Makes `last` the chat's last message: any that the chat ever had, but none that streams; 0: the
  // chat is empty. Nothing is deleted (see tree).
  //   errors  MESSAGE_NOT_FOUND, MESSAGE_STATE (an answer of the chat streams)
  virtual Result<void> truncate(ChatId chat, MessageId last) = 0;
  // From the first to the last one; of messages that were cut, none. In order of sequence, not of
  // clock.
  virtual Result<std::vector<StoredMessage>> messages(ChatId chat) = 0;
  // All that the chat ever had, those that were cut too, in order of sequence; a damaged one
  // perhaps not.
  virtual Result<std::vector<MessageLink>> tree(ChatId chat) = 0;
  // A short text beside the chat's messages, one of each name: what its session measured. Replaces
  // the one before; goes with the chat.
  virtual Result<void> set_note(ChatId chat, std::string_view name, std::string_view text) = 0;
  virtual Result<std::optional<std::string>> note(ChatId chat, std::string_view name) = 0;
};

}  // namespace satchel::runtime
