// The state shared by the parts of Library.
#pragma once

#include <map>

#include "storage/library/library.h"
#include "storage/sqlite/connection.h"

namespace satchel::storage {

// A complete streaming answer: finish() writes it as one row, independent of earlier parts.
struct Stream {
  std::int64_t chat = 0, seq = 0;
  std::optional<std::int64_t> parent;
  runtime::Role role = runtime::Role::assistant;
  std::string text;
  std::vector<std::int32_t> tokens;
  std::uint64_t tokenizer = 0;
  std::size_t text_saved = 0, tokens_saved = 0;  // already saved, in the row or in parts
  std::int64_t next_part = 1;

  bool pending() const { return text.size() > text_saved || tokens.size() > tokens_saved; }
};

// A chat and its last message; 0: none.
struct Cut {
  std::int64_t chat = 0, last = 0;
};

struct Library::State {
  LibraryOptions options;
  LibraryReport report;
  std::string library_id;
  std::optional<Connection> connection;    // none between a failure of the disk and the next call
  std::map<std::int64_t, Stream> streams;  // by message
  double streams_saved_ms = 0;             // steady
  std::int64_t last_message = 0;           // the highest id acknowledged as saved
  std::optional<Cut> open_cut;             // undoes a failed truncation that may be on disk

  // The connection; reopened and checked after a disk failure.
  Result<Connection*> reader();
  Result<Connection*> writer();
  // The first opening. Falls back to read-only, with the reason in the report; each call that
  // writes tries again, unless the file is damaged or newer.
  Result<void> connect();
  // Inside a transaction: the chat ends at `to.last`, or the nearest message before it where the
  // row of that one is gone. Returns what undoes it, for commit().
  //   errors  MESSAGE_NOT_FOUND, MESSAGE_STATE, CHAT_NOT_FOUND
  Result<Cut> cut(Connection& writer, Cut& to) const;
  // Of a transaction that perhaps cuts a chat.
  Result<void> commit(Transaction& change, const Connection& writer, std::optional<Cut> undoes);

 private:
  Result<void> open_for_writing();
  Result<void> begin_library() const;
  Result<void> connect_for_writing();
  Result<void> connect_for_reading();
  Result<void> reconnect();
  Result<void> try_writing_again();
  Result<void> prepare_for_writing(std::int64_t version);
  Result<void> interrupt_streaming();
  Result<void> note_use();
};

std::string_view name_of(runtime::Role role);
std::string_view name_of(runtime::MessageState state);
std::string_view name_of(runtime::MessageKind kind);
// int32 to bytes, little-endian.
std::vector<std::byte> to_blob(std::span<const std::int32_t> tokens);

// A row of `message` without id and time.
struct MessageRow {
  std::int64_t chat = 0, seq = 0;
  std::string_view role, state, text;
  std::span<const std::byte> tokens;
  std::string_view kind = kText, title = {};
  std::optional<std::int64_t> parent = {};
  std::int64_t tokenizer = 0;  // the bits of its hash

  static constexpr std::string_view kText = "text";
};
// Detects flipped bits, since SQLite has no row checksums. Does not protect against attackers.
std::int64_t checksum_of(const MessageRow& row);    // over the columns of schema 1
std::int64_t checksum_2_of(const MessageRow& row);  // also over those that schema 2 added
Result<void> update_message(Connection& connection, std::int64_t id, const MessageRow& row);

// Makes a message the chat's last one, inside the caller's transaction. Deletes nothing.
Result<void> cut_to(Connection& connection, const Cut& cut);
// Library::create_chat(), inside the caller's transaction.
Result<ChatId> insert_chat(Connection& connection, const NewChat& chat, NameTaken taken,
                           std::int64_t now_ms);
// The id of the chat's last message; 0: none.
Result<std::int64_t> last_message_of(Connection& connection, ChatId chat);

// Journal::set_note(), inside the caller's transaction.
Result<void> put_note(Connection& connection, ChatId chat, std::string_view name,
                      std::string_view text);

Error chat_not_found(ChatId id);
Error document_not_found();
// Of the setting that has the days of use when a chat was removed.
std::string removed_key(ChatId id);
// Marks a chat as most recently used, counts one more message, and returns its sequence number.
// CHAT_NOT_FOUND if the chat does not exist or was removed.
Result<std::int64_t> next_seq(Connection& connection, ChatId id, std::int64_t now_ms);

}  // namespace satchel::storage
