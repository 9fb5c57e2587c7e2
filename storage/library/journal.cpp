#include <algorithm>

#include "storage/library/state.h"

namespace satchel::storage {
namespace {
using kvcache::MessageState;
using kvcache::Role;

constexpr std::string_view kRoles[] = {"system", "user", "assistant"};
constexpr std::string_view kStates[] = {"complete", "streaming", "interrupted"};

template <class Enum, std::size_t n>
Result<Enum> enum_of(const std::string_view (&names)[n], const std::string& name) {
  const auto* found = std::find(std::begin(names), std::end(names), name);
  if (found == std::end(names))
    return Error{ErrorKind::corrupt, "LIBRARY_DAMAGED",
                 "A message has a role or state that does not exist. Nothing was changed."};
  return static_cast<Enum>(found - std::begin(names));
}

Error too_long() {
  return {ErrorKind::invalid, "MESSAGE_SIZE",
          "A message may have " + std::to_string(kMessageBytesMax >> 20) +
              " MiB of text. Nothing was saved. Split it."};
}

Error not_streaming(MessageId message) {
  return {ErrorKind::invalid, "MESSAGE_STATE",
          "Message " + std::to_string(message.value) + " is not streaming. Nothing was changed."};
}

bool fits(std::size_t text_bytes, std::size_t n_tokens) {
  return text_bytes <= kMessageBytesMax && n_tokens <= kMessageBytesMax;
}

void add(Stream& stream, std::string_view text, std::span<const std::int32_t> tokens) {
  stream.text += text;
  stream.tokens.insert(stream.tokens.end(), tokens.begin(), tokens.end());
}

Result<void> save_part(Connection& db, std::int64_t message, const Stream& stream) {
  SATCHEL_TRY_ASSIGN(Query insert, db.prepare("INSERT OR REPLACE INTO message_part(message, seq, "
                                              "tokens, text) VALUES(?1, ?2, ?3, ?4)"));
  const auto tokens = to_blob(std::span(stream.tokens).subspan(stream.tokens_saved));
  const auto text = std::string_view(stream.text).substr(stream.text_saved);
  return insert.bind(1, message).bind(2, stream.next_part).bind(3, tokens).bind(4, text).run();
}

Result<void> save_parts(Connection& db, std::map<std::int64_t, Stream>& streams) {
  SATCHEL_TRY_ASSIGN(Transaction change, db.begin(Sync::normal));
  for (const auto& [message, stream] : streams)
    if (stream.pending()) SATCHEL_TRY(save_part(db, message, stream));
  SATCHEL_TRY(change.commit());
  for (auto& [message, stream] : streams) {
    if (!stream.pending()) continue;
    ++stream.next_part;
    stream.text_saved = stream.text.size();
    stream.tokens_saved = stream.tokens.size();
  }
  return {};
}

// Text and tokens of the parts of a message that another process streams.
Result<void> add_parts(Connection& db, kvcache::StoredMessage& message) {
  SATCHEL_TRY_ASSIGN(Query parts, db.prepare("SELECT tokens, text FROM message_part WHERE message "
                                             "= ?1 ORDER BY seq"));
  parts.bind(1, message.id.value);
  for (;;) {
    SATCHEL_TRY_ASSIGN(const bool row, parts.step());
    if (!row) return {};
    SATCHEL_TRY_ASSIGN(const auto tokens, tokens_of(parts.blob_at(0)));
    message.tokens.insert(message.tokens.end(), tokens.begin(), tokens.end());
    message.text += parts.text_at(1);
  }
}

Result<kvcache::StoredMessage> message_at(const Query& row) {
  kvcache::StoredMessage message;
  message.id = {row.integer_at(0)};
  SATCHEL_TRY_ASSIGN(message.role, enum_of<Role>(kRoles, row.text_at(1)));
  SATCHEL_TRY_ASSIGN(message.state, enum_of<MessageState>(kStates, row.text_at(2)));
  message.created_ms = row.integer_at(3);
  SATCHEL_TRY_ASSIGN(message.tokens, tokens_of(row.blob_at(4)));
  message.text = row.text_at(5);
  return message;
}
}  // namespace

std::vector<std::byte> to_blob(std::span<const std::int32_t> tokens) {
  std::vector<std::byte> blob;
  blob.reserve(tokens.size() * 4);
  for (const std::int32_t token : tokens)
    for (unsigned shift = 0; shift < 32; shift += 8)
      blob.push_back(static_cast<std::byte>(static_cast<std::uint32_t>(token) >> shift));
  return blob;
}

Result<std::vector<std::int32_t>> tokens_of(std::span<const std::byte> blob) {
  if (blob.size() % 4 != 0)
    return Error{ErrorKind::corrupt, "LIBRARY_DAMAGED",
                 "The tokens of a message are cut off. Nothing was changed."};
  std::vector<std::int32_t> tokens(blob.size() / 4);
  for (std::size_t i = 0; i < blob.size(); ++i) {
    const auto byte = static_cast<std::uint32_t>(blob[i]) << (i % 4 * 8);
    tokens[i / 4] = static_cast<std::int32_t>(static_cast<std::uint32_t>(tokens[i / 4]) | byte);
  }
  return tokens;
}

Result<MessageId> Library::append(ChatId chat, const kvcache::NewMessage& message) {
  if (!fits(message.text.size(), message.tokens.size())) return too_long();
  SATCHEL_TRY_ASSIGN(Connection * db, state_->writer());
  const std::int64_t now_ms = state_->options.clock->wall_ms();
  const auto tokens = to_blob(message.tokens);
  SATCHEL_TRY_ASSIGN(Transaction change, db->begin(Sync::full));
  SATCHEL_TRY(touch_chat(*db, chat, now_ms));
  SATCHEL_TRY_ASSIGN(
      Query insert,
      db->prepare(
          "INSERT INTO message(chat, seq, role, state, created_ms, tokens, text) VALUES(?1, "
          "(SELECT coalesce(max(seq), 0) + 1 FROM message WHERE chat = ?1), ?2, ?3, ?4, "
          "?5, ?6) RETURNING id"));
  insert.bind(1, chat.value).bind(2, kRoles[static_cast<std::size_t>(message.role)]);
  insert.bind(3, kStates[static_cast<std::size_t>(message.state)]).bind(4, now_ms);
  insert.bind(5, tokens).bind(6, message.text);
  SATCHEL_TRY_ASSIGN(const std::int64_t id, insert.integer());
  SATCHEL_TRY(change.commit());
  state_->last_message = id;
  if (message.state == MessageState::streaming) {
    Stream& stream = state_->streams[id];
    stream.chat = chat.value;
    add(stream, message.text, message.tokens);
    stream.text_saved = stream.text.size();
    stream.tokens_saved = stream.tokens.size();
    state_->streams_saved_ms = state_->options.clock->steady_ms();
  }
  return MessageId{id};
}

Result<void> Library::extend(MessageId message, std::string_view text,
                             std::span<const std::int32_t> tokens) {
  const auto found = state_->streams.find(message.value);
  if (found == state_->streams.end()) return not_streaming(message);
  Stream& stream = found->second;
  const std::size_t text_before = stream.text.size(), tokens_before = stream.tokens.size();
  if (!fits(text_before + text.size(), tokens_before + tokens.size())) return too_long();
  add(stream, text, tokens);
  const double waited_ms = state_->options.clock->steady_ms() - state_->streams_saved_ms;
  if (waited_ms < kStreamMsMax && stream.tokens.size() - stream.tokens_saved < kStreamTokensMax)
    return {};
  auto flushed = flush();
  if (!flushed.ok()) {  // what earlier calls were told is held stays held, this one is not
    stream.text.resize(text_before);
    stream.tokens.resize(tokens_before);
  }
  return flushed;
}

Result<void> Library::flush() {
  const bool pending = std::any_of(state_->streams.begin(), state_->streams.end(),
                                   [](const auto& entry) { return entry.second.pending(); });
  if (!pending) return {};
  SATCHEL_TRY_ASSIGN(Connection * db, state_->writer());
  SATCHEL_TRY(save_parts(*db, state_->streams));
  state_->streams_saved_ms = state_->options.clock->steady_ms();
  return {};
}

Result<void> Library::finish(MessageId message, MessageState state, std::string_view text,
                             std::span<const std::int32_t> tokens) {
  const auto found = state_->streams.find(message.value);
  if (found == state_->streams.end() || state == MessageState::streaming)
    return not_streaming(message);
  Stream whole = found->second;
  if (!fits(whole.text.size() + text.size(), whole.tokens.size() + tokens.size()))
    return too_long();
  add(whole, text, tokens);
  SATCHEL_TRY_ASSIGN(Connection * db, state_->writer());
  SATCHEL_TRY_ASSIGN(Transaction change, db->begin(Sync::full));
  {
    SATCHEL_TRY_ASSIGN(Query update, db->prepare("UPDATE message SET state = ?2, tokens = ?3, "
                                                 "text = ?4 WHERE id = ?1"));
    const auto blob = to_blob(whole.tokens);
    update.bind(1, message.value).bind(2, kStates[static_cast<std::size_t>(state)]);
    SATCHEL_TRY(update.bind(3, blob).bind(4, whole.text).run());
    SATCHEL_TRY_ASSIGN(Query parts, db->prepare("DELETE FROM message_part WHERE message = ?1"));
    SATCHEL_TRY(parts.bind(1, message.value).run());
  }
  SATCHEL_TRY(change.commit());
  state_->streams.erase(found);
  return {};
}

Result<std::vector<kvcache::StoredMessage>> Library::messages(ChatId chat) {
  SATCHEL_TRY_ASSIGN(Connection * db, state_->reader());
  SATCHEL_TRY_ASSIGN(Query query,
                     db->prepare("SELECT id, role, state, created_ms, tokens, text FROM message "
                                 "WHERE chat = ?1 ORDER BY seq"));
  query.bind(1, chat.value);
  std::vector<kvcache::StoredMessage> messages;
  for (;;) {
    SATCHEL_TRY_ASSIGN(const bool row, query.step());
    if (!row) break;
    SATCHEL_TRY_ASSIGN(kvcache::StoredMessage message, message_at(query));
    if (const auto own = state_->streams.find(message.id.value); own != state_->streams.end()) {
      message.tokens = own->second.tokens;
      message.text = own->second.text;
    } else if (message.state == MessageState::streaming) {
      SATCHEL_TRY(add_parts(*db, message));
    }
    messages.push_back(std::move(message));
  }
  if (messages.empty()) {
    SATCHEL_TRY_ASSIGN(const Chat known,
                       this->chat(chat));  // no messages and no chat: not the same
    (void)known;
  }
  return messages;
}

}  // namespace satchel::storage
