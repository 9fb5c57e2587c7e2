// Messages as they are read. A row whose checksum does not match costs that message, not the chat.
#include <algorithm>

#include "storage/library/state.h"

namespace satchel::storage {
namespace {
using runtime::MessageKind;
using runtime::MessageState;
using runtime::Role;
using runtime::StoredMessage;

constexpr std::string_view kRoles[] = {"system", "user", "assistant"};
constexpr std::string_view kStates[] = {"complete", "streaming", "interrupted"};  // as stored
constexpr std::string_view kKinds[] = {"text", "document"};
constexpr std::size_t kTitleBytesMax = 255;  // of a document of schema 1: a file's name

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

constexpr const char* kColumns =
    "SELECT id, chat, seq, role, state, created_ms, tokens, text, checksum, kind, title, parent, "
    "tokenizer, checksum_2, live FROM message WHERE chat = ?1 ORDER BY seq";
constexpr int kParent = 11, kChecksum2 = 13, kLive = 14;

// Of schema 1, written without what schema 2 knows.
bool is_old(const Query& query) {
  return query.null_at(kChecksum2);
}

// None: damaged.
std::optional<StoredMessage> message_at(const Query& query) {
  const std::string role = query.text_at(3), state = query.text_at(4), kind = query.text_at(9);
  const auto blob = query.blob_at(6);
  StoredMessage message;
  message.text = query.text_at(7);
  message.title = query.text_at(10);
  const MessageRow row{
      .chat = query.integer_at(1),
      .seq = query.integer_at(2),
      .role = role,
      .state = state,
      .text = message.text,
      .tokens = blob,
      .kind = kind,
      .title = message.title,
      .parent = query.null_at(kParent) ? std::nullopt : std::optional(query.integer_at(kParent)),
      .tokenizer = query.integer_at(12)};
  const auto known_role = enum_of<Role>(kRoles, role);
  const auto known_state = enum_of<MessageState>(kStates, state);
  const auto known_kind = enum_of<MessageKind>(kKinds, kind);
  const bool sound = checksum_of(row) == query.integer_at(8) &&
                     (is_old(query) || checksum_2_of(row) == query.integer_at(kChecksum2));
  if (!sound || !known_role || !known_state || !known_kind || blob.size() % 4 != 0)
    return std::nullopt;
  message.id = {query.integer_at(0)};
  message.parent = {row.parent.value_or(0)};
  message.role = *known_role;
  message.state = *known_state;
  message.kind = *known_kind;
  message.created_ms = query.integer_at(5);
  message.tokens = tokens_of(blob);
  message.tokenizer = static_cast<std::uint64_t>(row.tokenizer);
  return message;
}

StoredMessage damaged_at(const Query& query) {
  StoredMessage message;
  message.id = {query.integer_at(0)};
  message.parent = {query.integer_at(kParent)};
  message.role = enum_of<Role>(kRoles, query.text_at(3)).value_or(Role::assistant);
  message.state = MessageState::damaged;
  message.created_ms = query.integer_at(5);
  return message;
}

// Schema 1 kept a document as its title, an empty line and its text, before the answer "Noted.".
void split_old_document(StoredMessage& message, const StoredMessage& next) {
  if (message.role != Role::user || next.role != Role::assistant || next.text != "Noted.") return;
  const std::size_t gap = message.text.find("\n\n");
  if (gap == std::string::npos || gap == 0 || gap > kTitleBytesMax) return;
  if (message.text.find('\n') < gap) return;
  message.kind = MessageKind::document;
  message.title = message.text.substr(0, gap);
  message.text.erase(0, gap + 2);
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
      "The library is damaged: messages of this chat are missing. Nothing was changed. Copy the "
      "folder to a safe place; a backup may contain them."};
}
}  // namespace

std::string_view name_of(Role role) {
  return kRoles[static_cast<std::size_t>(role)];
}
std::string_view name_of(MessageState state) {
  return kStates[static_cast<std::size_t>(state)];
}
std::string_view name_of(MessageKind kind) {
  return kKinds[static_cast<std::size_t>(kind)];
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

std::int64_t checksum_2_of(const MessageRow& row) {
  Checksum sum;
  sum.add(static_cast<std::uint64_t>(checksum_of(row)));
  sum.add(row.kind);
  sum.add(row.title);
  sum.add(static_cast<std::uint64_t>(row.parent.value_or(0)));
  sum.add(static_cast<std::uint64_t>(row.tokenizer));
  return sum.get();
}

Result<std::vector<StoredMessage>> Library::messages(ChatId chat) {
  SATCHEL_TRY_ASSIGN(Connection * db, state_->reader());
  // One statement open all the time: one moment of a file that another process may be writing.
  SATCHEL_TRY_ASSIGN(Query known,
                     db->prepare("SELECT last_seq, n_live, model_1 FROM chat WHERE id = ?1"));
  SATCHEL_TRY_ASSIGN(const bool found, known.bind(1, chat.value).step());
  if (!found) return chat_not_found(chat);
  SATCHEL_TRY_ASSIGN(Query query, db->prepare(kColumns));
  query.bind(1, chat.value);
  std::vector<StoredMessage> messages;
  std::int64_t n_rows = 0;
  std::size_t n_damaged = 0;
  bool last_is_old = false;
  for (;; ++n_rows) {
    SATCHEL_TRY_ASSIGN(const bool row, query.step());
    if (!row) break;
    if (query.integer_at(kLive) == 0) continue;
    std::optional<StoredMessage> message = message_at(query);
    if (!message) ++n_damaged;
    messages.push_back(message ? std::move(*message) : damaged_at(query));
    StoredMessage& last = messages.back();
    if (last.tokenizer == 0) last.model = known.text_at(2);
    if (last_is_old) split_old_document(messages[messages.size() - 2], last);
    last_is_old = is_old(query);
    if (const auto own = state_->streams.find(last.id.value); own != state_->streams.end()) {
      last.tokens = own->second.tokens;
      last.text = own->second.text;
    } else if (last.state == MessageState::streaming) {
      SATCHEL_TRY(add_parts(*db, last));
    }
  }
  if (n_rows != known.integer_at(0) ||
      static_cast<std::int64_t>(messages.size()) != known.integer_at(1))
    return messages_missing();
  if (n_damaged > 0 && state_->options.log)
    state_->options.log(LogLevel::error, "library",
                        "messages damaged n=" + std::to_string(n_damaged));
  return messages;
}

}  // namespace satchel::storage
