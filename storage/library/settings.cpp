#include "storage/library/state.h"

namespace satchel::storage {
namespace {

std::string key_of(ChatId chat, std::string_view name) {
  return "chat." + std::to_string(chat.value) + "." + std::string(name);
}

Result<void> put(Connection& connection, std::string_view key, std::string_view value) {
  SATCHEL_TRY_ASSIGN(
      Query upsert,
      connection.prepare("INSERT OR REPLACE INTO setting(key, value) VALUES(?1, ?2)"));
  return upsert.bind(1, key).bind(2, value).run();
}

}  // namespace

Result<void> put_note(Connection& connection, ChatId chat, std::string_view name,
                      std::string_view text) {
  return put(connection, key_of(chat, name), text);
}

Result<std::optional<std::string>> Library::setting(std::string_view key) {
  SATCHEL_TRY_ASSIGN(Connection * db, state_->reader());
  SATCHEL_TRY_ASSIGN(Query query, db->prepare("SELECT value FROM setting WHERE key = ?1"));
  SATCHEL_TRY_ASSIGN(const bool row, query.bind(1, key).step());
  if (!row) return std::optional<std::string>();
  return std::optional<std::string>(query.text_at(0));
}

Result<void> Library::set_setting(std::string_view key, std::string_view value) {
  SATCHEL_TRY_ASSIGN(Connection * db, state_->writer());
  SATCHEL_TRY_ASSIGN(Transaction change, db->begin(Sync::full));
  SATCHEL_TRY(put(*db, key, value));
  return change.commit();
}

Result<void> Library::set_note(ChatId chat, std::string_view name, std::string_view text) {
  return set_setting(key_of(chat, name), text);
}

Result<std::optional<std::string>> Library::note(ChatId chat, std::string_view name) {
  return setting(key_of(chat, name));
}

}  // namespace satchel::storage
