// Messages as they are read. A row whose checksum does not match costs that message, not the chat.
#include <algorithm>

#include "storage/library/state.h"

namespace satchel::storage {
namespace {
using kvcache::MessageState;
using kvcache::Role;
using kvcache::StoredMessage;

constexpr std::string_view kRoles[] = {"system", "user", "assistant"};
constexpr std::string_view kStates[] = {"complete", "streaming", "interrupted"};
constexpr const char* kDamagedText =
    "[This message is damaged on the disk and cannot be shown. A backup may have it.]";

template <class Enum, std::size_t n>
std::optional<Enum> enum_of(const std::string_view (&names)[n], std::string_view name) {
  const auto* found = std::find(std::begin(names), std::end(names), name);
  if (found == std::end(names)) return std::nullopt;
  return static_cast<Enum>(found - std::begin(names));
}

// FNV-1a, 64 bits: one changed byte always changes it.
//   source  RFC 9923
class Checksum {
 public:
  void add(std::span<const std::byte> bytes) {
    add(static_cast<std::uint64_t>(bytes.size()));
    for (const std::byte byte : bytes) step(static_cast<std::uint64_t>(byte));
  }
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  void add(std::uint64_t number) {
    for (unsigned shift = 0; shift < 64; shift += 8) step(number >> shift & 0xffu);
  }
  std::int64_t get() const { return static_cast<std::int64_t>(value_); }

 private:
  void step(std::uint64_t byte) { value_ = (value_ ^ byte) * 0x100000001b3u; }
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

std::vector<std::int32_t> tokens_of(std::span<const std::byte> blob) {
  std::vector<std::int32_t> tokens;
  tokens.reserve(blob.size() / 4);
  for (std::size_t i = 0; i + 4 <= blob.size(); i += 4) {
    std::uint32_t token = 0;
    for (std::size_t byte = 0; byte < 4; ++byte)
      token |= static_cast<std::uint32_t>(blob[i + byte]) << (8 * byte);
    tokens.push_back(static_cast<std::int32_t>(token));
  }
  return tokens;
}

// Columns: id, chat, seq, role, state, created_ms, tokens, text, checksum. None: damaged.
std::optional<StoredMessage> message_at(const Query& query) {
  const std::string role = query.text_at(3), state = query.text_at(4);
  const auto blob = query.blob_at(6);
  StoredMessage message;
  message.text = query.text_at(7);
  const std::int64_t checksum = checksum_of({.chat = query.integer_at(1),
                                             .seq = query.integer_at(2),
                                             .role = role,
                                             .state = state,
                                             .text = message.text,
                                             .tokens = blob});
  const auto known_role = enum_of<Role>(kRoles, role);
  const auto known_state = enum_of<MessageState>(kStates, state);
  if (checksum != query.integer_at(8) || !known_role || !known_state || blob.size() % 4 != 0)
    return std::nullopt;
  message.id = {query.integer_at(0)};
  message.role = *known_role;
  message.state = *known_state;
  message.created_ms = query.integer_at(5);
  message.tokens = tokens_of(blob);
  return message;
}

StoredMessage placeholder(const Query& query) {
  StoredMessage message;
  message.id = {query.integer_at(0)};
  message.role = enum_of<Role>(kRoles, query.text_at(3)).value_or(Role::assistant);
  message.state = MessageState::interrupted;
  message.text = kDamagedText;
  message.created_ms = query.integer_at(5);
  return message;
}

// Text and tokens of the parts of a message that another process streams.
Result<void> add_parts(Connection& db, StoredMessage& message) {
  SATCHEL_TRY_ASSIGN(Query parts, db.prepare("SELECT tokens, text FROM message_part WHERE message "
                                             "= ?1 ORDER BY seq"));
  parts.bind(1, message.id.value);
  for (;;) {
    SATCHEL_TRY_ASSIGN(const bool row, parts.step());
    if (!row) return {};
    const auto tokens = tokens_of(parts.blob_at(0));
    message.tokens.insert(message.tokens.end(), tokens.begin(), tokens.end());
    message.text += parts.text_at(1);
  }
}

Error messages_missing() {
  return {
      ErrorKind::corrupt, "LIBRARY_DAMAGED",
      "Messages of this chat are missing: the library is damaged. Nothing was changed. Copy the "
      "folder to a safe place; a backup may have them."};
}
}  // namespace

std::string_view name_of(Role role) {
  return kRoles[static_cast<std::size_t>(role)];
}
std::string_view name_of(MessageState state) {
  return kStates[static_cast<std::size_t>(state)];
}

std::vector<std::byte> to_blob(std::span<const std::int32_t> tokens) {
  std::vector<std::byte> blob;
  blob.reserve(tokens.size() * 4);
  for (const std::int32_t token : tokens)
    for (unsigned shift = 0; shift < 32; shift += 8)
      blob.push_back(static_cast<std::byte>(static_cast<std::uint32_t>(token) >> shift));
  return blob;
}

std::int64_t checksum_of(const MessageRow& row) {
  Checksum sum;
  sum.add(static_cast<std::uint64_t>(row.chat));
  sum.add(static_cast<std::uint64_t>(row.seq));
  sum.add(row.role);
  sum.add(row.state);
  sum.add(row.text);
  sum.add(row.tokens);
  return sum.get();
}

Result<std::vector<StoredMessage>> Library::messages(ChatId chat) {
  SATCHEL_TRY_ASSIGN(Connection * db, state_->reader());
  // One statement open all the time: one moment of a file that another process may be writing.
  SATCHEL_TRY_ASSIGN(Query known, db->prepare("SELECT last_seq FROM chat WHERE id = ?1"));
  SATCHEL_TRY_ASSIGN(const bool found, known.bind(1, chat.value).step());
  if (!found) return chat_not_found(chat);
  SATCHEL_TRY_ASSIGN(Query query,
                     db->prepare("SELECT id, chat, seq, role, state, created_ms, tokens, text, "
                                 "checksum FROM message WHERE chat = ?1 ORDER BY seq"));
  query.bind(1, chat.value);
  std::vector<StoredMessage> messages;
  std::size_t n_damaged = 0;
  for (;;) {
    SATCHEL_TRY_ASSIGN(const bool row, query.step());
    if (!row) break;
    std::optional<StoredMessage> message = message_at(query);
    if (!message) ++n_damaged;
    messages.push_back(message ? std::move(*message) : placeholder(query));
    StoredMessage& last = messages.back();
    if (const auto own = state_->streams.find(last.id.value); own != state_->streams.end()) {
      last.tokens = own->second.tokens;
      last.text = own->second.text;
    } else if (last.state == MessageState::streaming) {
      SATCHEL_TRY(add_parts(*db, last));
    }
  }
  if (static_cast<std::int64_t>(messages.size()) != known.integer_at(0)) return messages_missing();
  if (n_damaged > 0 && state_->options.log)
    state_->options.log(LogLevel::error, "library",
                        "messages damaged n=" + std::to_string(n_damaged));
  return messages;
}

}  // namespace satchel::storage
