// Documents that people keep for other chats: words of their own, which go when they are removed.
#include "runtime/contract/document_cache.h"
#include "storage/library/state.h"

namespace satchel::storage {
namespace {

Error too_long() {
  return {ErrorKind::invalid, "MESSAGE_SIZE",
          "The document has more than " + std::to_string(kMessageBytesMax >> 20) +
              " MiB. It is not kept."};
}

Error document_damaged(const std::string& title) {
  return {ErrorKind::corrupt, "LIBRARY_DAMAGED",
          "The kept document \"" + title +
              "\" is damaged on disk. Remove it, and read its file again."};
}

}  // namespace

Error document_not_found() {
  return {ErrorKind::not_found, "DOC_NOT_FOUND", "There is no such document on the shelf."};
}

Result<void> Library::keep_document(std::string_view title, std::string_view text) {
  if (text.size() > kMessageBytesMax || title.size() > kMessageBytesMax) return too_long();
  const std::string hash = runtime::document_hash(text);
  SATCHEL_TRY_ASSIGN(Connection * db, state_->writer());
  SATCHEL_TRY_ASSIGN(Transaction change, db->begin(Sync::full));
  {
    SATCHEL_TRY_ASSIGN(
        Query upsert,
        db->prepare("INSERT INTO document(hash, title, text, created_ms, used_ms) VALUES(?1, ?2, "
                    "?3, ?4, ?4) ON CONFLICT(hash) DO UPDATE SET title = excluded.title, used_ms = "
                    "excluded.used_ms"));
    upsert.bind(1, hash).bind(2, title).bind(3, text);
    SATCHEL_TRY(upsert.bind(4, state_->options.clock->wall_ms()).run());
  }
  return change.commit();
}

Result<std::vector<KeptDocument>> Library::kept_documents() {
  SATCHEL_TRY_ASSIGN(Connection * db, state_->reader());
  SATCHEL_TRY_ASSIGN(Query query, db->prepare("SELECT hash, title, length(CAST(text AS BLOB)), "
                                              "used_ms FROM document ORDER BY used_ms DESC, id"));
  return query.all([](const Query& row) {
    return KeptDocument{.hash = row.text_at(0),
                        .title = row.text_at(1),
                        .n_bytes = static_cast<std::uint64_t>(row.integer_at(2)),
                        .used_ms = row.integer_at(3)};
  });
}

Result<std::string> Library::document_text(std::string_view hash) {
  SATCHEL_TRY_ASSIGN(Connection * db, state_->reader());
  SATCHEL_TRY_ASSIGN(Query query, db->prepare("SELECT text, title FROM document WHERE hash = ?1"));
  SATCHEL_TRY_ASSIGN(const bool row, query.bind(1, hash).step());
  if (!row) return document_not_found();
  std::string text = query.text_at(0);
  if (runtime::document_hash(text) != hash) return document_damaged(query.text_at(1));
  return text;
}

Result<std::optional<Library::ChatDocument>> Library::chat_document(ChatId chat,
                                                                    std::string_view hash) {
  SATCHEL_TRY_ASSIGN(Connection * db, state_->reader());
  SATCHEL_TRY_ASSIGN(Query query, db->prepare("SELECT title, text FROM message WHERE chat = ?1 AND "
                                              "kind = 'document' ORDER BY seq"));
  query.bind(1, chat.value);
  for (;;) {
    SATCHEL_TRY_ASSIGN(const bool row, query.step());
    if (!row) return std::optional<ChatDocument>();
    ChatDocument found{.title = query.text_at(0), .text = query.text_at(1)};
    if (runtime::document_hash(found.text) == hash) return std::optional(std::move(found));
  }
}

Result<void> Library::purge_document(std::string_view hash) {
  SATCHEL_TRY_ASSIGN(Connection * db, state_->writer());
  SATCHEL_TRY_ASSIGN(Transaction change, db->begin(Sync::full));
  {
    SATCHEL_TRY_ASSIGN(Query row, db->prepare("DELETE FROM document WHERE hash = ?1 RETURNING id"));
    SATCHEL_TRY_ASSIGN(const bool found, row.bind(1, hash).step());
    if (!found) return document_not_found();
    SATCHEL_TRY(row.run());
  }
  SATCHEL_TRY(change.commit());
  SATCHEL_TRY_ASSIGN(const bool emptied, db->empty_wal());
  if (!emptied && state_->options.log)
    state_->options.log(LogLevel::warning, "library", "log not emptied reason=reader");
  return {};
}

}  // namespace satchel::storage
