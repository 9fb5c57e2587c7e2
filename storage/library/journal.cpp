#include <algorithm>

#include "kernels/base/assert.h"
#include "storage/library/state.h"

namespace satchel::storage {
namespace {
using runtime::MessageState;

Error too_long() {
  return {ErrorKind::invalid, "MESSAGE_SIZE",
          "A message may have at most " + std::to_string(kMessageBytesMax >> 20) +
              " MiB of text. Nothing was saved. Split the message."};
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

Result<std::int64_t> insert_message(Connection& db, const MessageRow& row, std::int64_t now_ms) {
  SATCHEL_TRY_ASSIGN(
      Query insert,
      db.prepare("INSERT INTO message(chat, seq, role, state, created_ms, tokens, text, checksum, "
                 "kind, title, parent, tokenizer, checksum_2) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, "
                 "?8, ?9, ?10, ?11, ?12, ?13) RETURNING id"));
  insert.bind(1, row.chat).bind(2, row.seq).bind(3, row.role).bind(4, row.state).bind(5, now_ms);
  insert.bind(6, row.tokens).bind(7, row.text).bind(8, checksum_of(row));
  insert.bind(9, row.kind).bind(10, row.title).bind(11, row.parent).bind(12, row.tokenizer);
  return insert.bind(13, checksum_2_of(row)).integer();
}

// Behind the message `parent`; 0: first. Returns what the last one needs if it streams.
Result<Stream> insert_messages(Connection& db, ChatId chat, std::int64_t parent,
                               std::span<const runtime::NewMessage> messages, std::int64_t now_ms,
                               std::vector<MessageId>& ids) {
  Stream last;
  for (const runtime::NewMessage& message : messages) {
    SATCHEL_TRY_ASSIGN(const std::int64_t seq, next_seq(db, chat, now_ms));
    const auto tokens = to_blob(message.tokens);
    const MessageRow row{.chat = chat.value,
                         .seq = seq,
                         .role = name_of(message.role),
                         .state = name_of(message.state),
                         .text = message.text,
                         .tokens = tokens,
                         .kind = name_of(message.kind),
                         .title = message.title,
                         .parent = parent != 0 ? std::optional(parent) : std::nullopt,
                         .tokenizer = static_cast<std::int64_t>(message.tokenizer)};
    SATCHEL_TRY_ASSIGN(parent, insert_message(db, row, now_ms));
    ids.push_back({parent});
    last.seq = seq;
    last.parent = row.parent;
  }
  return last;
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

}  // namespace

// The whole row anew, and no parts any more.
Result<void> update_message(Connection& db, std::int64_t id, const MessageRow& row) {
  SATCHEL_TRY_ASSIGN(
      Query update,
      db.prepare("UPDATE message SET state = ?2, tokens = ?3, text = ?4, checksum = ?5, checksum_2 "
                 "= iif(checksum_2 IS NULL, NULL, ?6) WHERE id = ?1"));
  update.bind(1, id).bind(2, row.state).bind(3, row.tokens).bind(4, row.text);
  SATCHEL_TRY(update.bind(5, checksum_of(row)).bind(6, checksum_2_of(row)).run());
  SATCHEL_TRY_ASSIGN(Query parts, db.prepare("DELETE FROM message_part WHERE message = ?1"));
  return parts.bind(1, id).run();
}

Result<std::int64_t> last_message_of(Connection& db, ChatId chat) {
  SATCHEL_TRY_ASSIGN(Query last, db.prepare("SELECT id FROM message WHERE chat = ?1 AND live = 1 "
                                            "ORDER BY seq DESC LIMIT 1"));
  SATCHEL_TRY_ASSIGN(const bool row, last.bind(1, chat.value).step());
  return row ? last.integer_at(0) : std::int64_t{0};
}

Result<std::vector<MessageId>> Library::append_behind(ChatId chat, std::optional<MessageId> last,
                                                      std::span<const runtime::NewMessage> messages,
                                                      const runtime::NoteBeside* note) {
  for (const runtime::NewMessage& message : messages) {
    if (!fits(message.text.size() + message.title.size(), message.tokens.size())) return too_long();
    SATCHEL_ASSERT(message.state != MessageState::streaming || &message == &messages.back());
    SATCHEL_ASSERT(message.state != MessageState::damaged);
  }
  SATCHEL_TRY_ASSIGN(Connection * db, state_->writer());
  const std::int64_t now_ms = state_->options.clock->wall_ms();
  std::vector<MessageId> ids;
  SATCHEL_TRY_ASSIGN(Transaction change, db->begin(Sync::full));
  std::int64_t parent = 0;
  std::optional<Cut> undoes;
  if (last) {
    Cut to{.chat = chat.value, .last = last->value};
    SATCHEL_TRY_ASSIGN(undoes, state_->cut(*db, to));
    parent = to.last;
  } else {
    SATCHEL_TRY_ASSIGN(parent, last_message_of(*db, chat));
  }
  SATCHEL_TRY_ASSIGN(Stream stream, insert_messages(*db, chat, parent, messages, now_ms, ids));
  if (note != nullptr) SATCHEL_TRY(put_note(*db, chat, note->name, note->text(ids)));
  SATCHEL_TRY(state_->commit(change, *db, undoes));
  if (ids.empty()) return ids;
  const std::int64_t newest = ids.back().value;
  state_->last_message = newest;
  if (messages.back().state != MessageState::streaming) return ids;
  stream.chat = chat.value;
  stream.role = messages.back().role;
  stream.tokenizer = messages.back().tokenizer;
  add(stream, messages.back().text, messages.back().tokens);
  stream.text_saved = stream.text.size();
  stream.tokens_saved = stream.tokens.size();
  state_->streams[newest] = std::move(stream);
  state_->streams_saved_ms = state_->options.clock->steady_ms();
  return ids;
}

Result<ChatId> Library::add_chat(const NewChat& chat,
                                 std::span<const runtime::NewMessage> messages) {
  for (const runtime::NewMessage& message : messages) {
    if (!fits(message.text.size() + message.title.size(), message.tokens.size())) return too_long();
    SATCHEL_ASSERT(message.state != MessageState::streaming);
    SATCHEL_ASSERT(message.state != MessageState::damaged);
  }
  SATCHEL_TRY_ASSIGN(Connection * db, state_->writer());
  const std::int64_t now_ms = state_->options.clock->wall_ms();
  SATCHEL_TRY_ASSIGN(Transaction change, db->begin(Sync::full));
  SATCHEL_TRY_ASSIGN(const ChatId id, insert_chat(*db, chat, NameTaken::number, now_ms));
  std::vector<MessageId> ids;
  SATCHEL_TRY(insert_messages(*db, id, 0, messages, now_ms, ids));
  SATCHEL_TRY(change.commit());
  if (!ids.empty()) state_->last_message = ids.back().value;
  return id;
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
  const auto blob = to_blob(whole.tokens);
  SATCHEL_TRY(update_message(*db, message.value,
                             {.chat = whole.chat,
                              .seq = whole.seq,
                              .role = name_of(whole.role),
                              .state = name_of(state),
                              .text = whole.text,
                              .tokens = blob,
                              .parent = whole.parent,
                              .tokenizer = static_cast<std::int64_t>(whole.tokenizer)}));
  SATCHEL_TRY(change.commit());
  state_->streams.erase(found);
  return {};
}

}  // namespace satchel::storage
