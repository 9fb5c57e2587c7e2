// Journal: where a session commits messages. The interface lies below both runtime (which calls it)
// and storage (which implements it over SQLite), so that neither knows the other; `app` joins them.
//   order   append the user's message -> infer -> append the answer as `streaming` -> extend … ->
//           finish. What append and finish return ok for survives a kill and a power cut; what
//           extend took survives after at most 250 ms or 32 tokens.
//   tokens  are the truth, not the text: the ids of a chat are the ids of its messages side by side,
//           template included
//   errors  storage (DISK_FULL, READ_ONLY, LIBRARY_LOCKED …); after an error nothing of that call is
//           stored
//   threads one call at a time
//   source  ../shared/reliability.md section 3, rules 2 and 3
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"

namespace satchel::kvcache {

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
// kept.
enum class MessageState : std::uint8_t { complete, streaming, interrupted };

struct NewMessage {
  Role role = Role::user;
  MessageState state = MessageState::complete;
  std::string_view text;                 // UTF-8, as people read it
  std::span<const std::int32_t> tokens;  // as the model reads it, with the template's own tokens
};

struct StoredMessage {
  MessageId id;
  Role role = Role::user;
  MessageState state = MessageState::complete;
  std::string text;
  std::vector<std::int32_t> tokens;
  std::int64_t created_ms = 0;  // since 1970, UTC
};

class Journal {
 public:
  virtual ~Journal() = default;
  virtual Result<MessageId> append(ChatId chat, const NewMessage& message) = 0;
  // Adds to a message that is `streaming`.
  virtual Result<void> extend(MessageId message, std::string_view text,
                              std::span<const std::int32_t> tokens) = 0;
  // Ends a `streaming` message, with `text` and `tokens` added first.
  virtual Result<void> finish(MessageId message, MessageState state, std::string_view text,
                              std::span<const std::int32_t> tokens) = 0;
  // In order of sequence, not of clock.
  virtual Result<std::vector<StoredMessage>> messages(ChatId chat) = 0;
};

}  // namespace satchel::kvcache
