// Messages as they are read. A row whose checksum does not match, or that is gone, costs that
// message, not the chat.
#include <algorithm>

#include "storage/library/message_path.h"
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

// Of one that is gone: nobody knows more than that it stood there.
StoredMessage missing_at(const MissingMessage& missing, Role role) {
  StoredMessage message;
  message.id = {missing.id};
  message.role = role;
  message.state = MessageState::damaged;
  return message;
}

struct ReadRows {
  std::vector<StoredMessage> messages;
  std::vector<std::int64_t> seqs;  // of the messages
  std::int64_t n_rows = 0;         // of the chat, those that are not live too
  std::set<std::int64_t> damaged;
  bool is_linked = true;  // each follows the one before it

  void add_missing(std::span<const MissingMessage> missing);
};

// A user's where an answer follows or nothing stands before, an answer's elsewhere.
void ReadRows::add_missing(std::span<const MissingMessage> missing) {
  for (const MissingMessage& one : missing) {
    const auto at = std::lower_bound(seqs.begin(), seqs.end(), one.seq) - seqs.begin();
    const auto next = messages.begin() + at;
    const bool before_answer = next != messages.end() && next->role == Role::assistant;
    const bool is_first = next == messages.begin();
    const bool behind_user = !is_first && std::prev(next)->role == Role::user;
    const bool is_users = before_answer || is_first || !behind_user;
    messages.insert(next, missing_at(one, is_users ? Role::user : Role::assistant));
    seqs.insert(seqs.begin() + at, one.seq);
    damaged.insert(one.id);
  }
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

namespace {

// Of a chat whose path is whole, the rows that are live; else those on `path`.
Result<ReadRows> read_rows(Connection& db, ChatId chat, const std::string& model_1,
                           const std::map<std::int64_t, Stream>& streams, const MessagePath* path) {
  SATCHEL_TRY_ASSIGN(Query query, db.prepare(kColumns));
  query.bind(1, chat.value);
  ReadRows read;
  bool last_is_old = false;
  for (;; ++read.n_rows) {
    SATCHEL_TRY_ASSIGN(const bool row, query.step());
    if (!row) return read;
    const bool is_on_path =
        path == nullptr ? query.integer_at(kLive) != 0 : path->ids.contains(query.integer_at(0));
    if (!is_on_path) continue;
    std::optional<StoredMessage> message = message_at(query);
    if (!message) read.damaged.insert(query.integer_at(0));
    const std::int64_t before = read.messages.empty() ? 0 : read.messages.back().id.value;
    if (message && message->parent.value != before) read.is_linked = false;
    read.seqs.push_back(query.integer_at(2));
    read.messages.push_back(message ? std::move(*message) : damaged_at(query));
    StoredMessage& last = read.messages.back();
    if (last.tokenizer == 0) last.model = model_1;
    if (last_is_old) split_old_document(read.messages[read.messages.size() - 2], last);
    last_is_old = is_old(query);
    if (const auto own = streams.find(last.id.value); own != streams.end()) {
      last.tokens = own->second.tokens;
      last.text = own->second.text;
    } else if (last.state == MessageState::streaming) {
      SATCHEL_TRY(add_parts(db, last));
    }
  }
}

}  // namespace

Result<std::vector<StoredMessage>> Library::messages(ChatId chat) {
  SATCHEL_TRY_ASSIGN(Connection * db, state_->reader());
  // One statement open all the time: one moment of a file that another process may be writing.
  SATCHEL_TRY_ASSIGN(Query known,
                     db->prepare("SELECT last_seq, n_live, model_1 FROM chat WHERE id = ?1"));
  SATCHEL_TRY_ASSIGN(const bool found, known.bind(1, chat.value).step());
  if (!found) return chat_not_found(chat);
  const MessageCounts counts{.last_seq = known.integer_at(0), .n_live = known.integer_at(1)};
  const std::string model_1 = known.text_at(2);
  SATCHEL_TRY_ASSIGN(ReadRows read, read_rows(*db, chat, model_1, state_->streams, nullptr));
  const bool is_whole = read.is_linked && read.n_rows == counts.last_seq &&
                        static_cast<std::int64_t>(read.messages.size()) == counts.n_live;
  if (!is_whole) {
    SATCHEL_TRY_ASSIGN(const MessagePath path, find_path(*db, chat, counts, read.damaged));
    SATCHEL_TRY_ASSIGN(read, read_rows(*db, chat, model_1, state_->streams, &path));
    read.add_missing(path.missing);
  }
  if ((!read.damaged.empty() || !is_whole) && state_->options.log)
    state_->options.log(LogLevel::error, "library",
                        "messages damaged n=" + std::to_string(read.damaged.size()));
  return std::move(read.messages);
}

Result<std::vector<runtime::MessageLink>> Library::tree(ChatId chat) {
  SATCHEL_TRY_ASSIGN(Connection * db, state_->reader());
  // A parent that is not there is a flipped bit: nothing is known of the place.
  SATCHEL_TRY_ASSIGN(
      Query query,
      db->prepare("SELECT m.id, coalesce(m.parent, 0) FROM message m LEFT JOIN message p ON p.id = "
                  "m.parent WHERE m.chat = ?1 AND (m.parent IS NULL OR (p.chat = ?1 AND p.seq < "
                  "m.seq)) ORDER BY m.seq"));
  return query.bind(1, chat.value).all([](const Query& row) {
    return runtime::MessageLink{.id = {row.integer_at(0)}, .parent = {row.integer_at(1)}};
  });
}

}  // namespace satchel::storage
