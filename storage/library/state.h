// What the parts of Library share.
#pragma once

#include <map>
#include <set>

#include "storage/library/library.h"
#include "storage/sqlite/connection.h"

namespace satchel::storage {

// An answer that streams, whole: finish() then writes one row and depends on no earlier part.
struct Stream {
  std::int64_t chat = 0, seq = 0;
  kvcache::Role role = kvcache::Role::assistant;
  std::string text;
  std::vector<std::int32_t> tokens;
  std::size_t text_saved = 0, tokens_saved = 0;  // of text and tokens, in the row or in parts
  std::int64_t next_part = 1;

  bool pending() const { return text.size() > text_saved || tokens.size() > tokens_saved; }
};

struct Library::State {
  LibraryOptions options;
  LibraryReport report;
  std::string library_id;
  std::optional<Connection> connection;    // none between a failure of the disk and the next call
  std::map<std::int64_t, Stream> streams;  // by message
  double streams_saved_ms = 0;             // steady
  std::int64_t last_message = 0;           // the highest id said to be saved

  // The connection, reopened and checked if the disk failed meanwhile.
  Result<Connection*> reader();
  Result<Connection*> writer();
  // The first opening. Falls back to read-only, with the reason in the report.
  Result<void> connect();

 private:
  Result<void> connect_for_writing();
  Result<void> connect_for_reading();
  Result<void> reconnect();
  Result<void> prepare_for_writing(std::int64_t version);
  Result<void> interrupt_streaming();
};

std::string_view name_of(kvcache::Role role);
std::string_view name_of(kvcache::MessageState state);
// int32 to bytes, little-endian.
std::vector<std::byte> to_blob(std::span<const std::int32_t> tokens);

// A row of `message` without id and time.
struct MessageRow {
  std::int64_t chat = 0, seq = 0;
  std::string_view role, state, text;
  std::span<const std::byte> tokens;
};
// SQLite keeps no checksum of a row, so a flipped bit would go unseen. Not against attackers.
std::int64_t checksum_of(const MessageRow& row);
Result<void> update_message(Connection& connection, std::int64_t id, const MessageRow& row);

Error chat_not_found(ChatId id);
// Marks a kept chat as the one used last and counts one message more: its place. CHAT_NOT_FOUND if
// there is no such chat.
Result<std::int64_t> next_seq(Connection& connection, ChatId id, std::int64_t now_ms);

}  // namespace satchel::storage
