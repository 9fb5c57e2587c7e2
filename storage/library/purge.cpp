// What is deleted for good: chats and backups after a month, by the clock and by days of use.
#include <system_error>

#include "storage/folder/backups.h"
#include "storage/folder/folder.h"
#include "storage/library/state.h"
#include "storage/library/use_days.h"

namespace satchel::storage {
namespace {

std::int64_t month_before(std::int64_t now_ms) {
  constexpr std::int64_t kDayMs = 86'400'000;
  return now_ms - kDeletedDaysKept * kDayMs;
}

// Begins to count for what has no count yet: chats that an earlier version removed, backups.
Result<bool> was_used_since(Connection& db, const std::string& key) {
  SATCHEL_TRY_ASSIGN(const std::optional<std::int64_t> days, use_days_since(db, key));
  if (!days) SATCHEL_TRY(begin_use_days(db, key));
  return days.value_or(0) >= kUseDaysKept;
}

std::string key_of(const std::filesystem::path& backup) {
  return "backup." + backup.stem().string();
}

}  // namespace

Result<std::vector<ChatId>> Library::expired_chats() {
  SATCHEL_TRY_ASSIGN(Connection * db, state_->writer());
  const std::int64_t now_ms = state_->options.clock->wall_ms();
  SATCHEL_TRY_ASSIGN(Transaction change, db->begin(Sync::full));
  SATCHEL_TRY(count_use_day(*db, now_ms));
  std::vector<ChatId> removed, expired;
  {
    SATCHEL_TRY_ASSIGN(Query query,
                       db->prepare("SELECT id FROM chat WHERE removed_ms < ?1 ORDER BY id"));
    query.bind(1, month_before(now_ms));
    SATCHEL_TRY_ASSIGN(removed,
                       query.all([](const Query& row) { return ChatId{row.integer_at(0)}; }));
  }
  for (const ChatId chat : removed) {
    SATCHEL_TRY_ASSIGN(const bool was_used, was_used_since(*db, removed_key(chat)));
    if (was_used) expired.push_back(chat);
  }
  SATCHEL_TRY(change.commit());
  return expired;
}

Result<std::size_t> Library::drop_expired_backups() {
  SATCHEL_TRY_ASSIGN(Connection * db, state_->writer());
  const std::int64_t month_ago = month_before(state_->options.clock->wall_ms());
  std::size_t n_dropped = 0;
  for (const std::filesystem::path& backup : backups_of(state_->options.path)) {
    SATCHEL_TRY_ASSIGN(Transaction change, db->begin(Sync::full));
    SATCHEL_TRY_ASSIGN(const bool was_used, was_used_since(*db, key_of(backup)));
    SATCHEL_TRY(change.commit());
    const std::optional<std::int64_t> written_ms = written_at(backup);
    if (!was_used || !written_ms || *written_ms >= month_ago) continue;
    std::error_code error;
    if (std::filesystem::remove(backup, error)) ++n_dropped;
  }
  if (n_dropped > 0 && state_->options.log)
    state_->options.log(LogLevel::info, "library",
                        "backups deleted n=" + std::to_string(n_dropped));
  return n_dropped;
}

Result<void> Library::purge_chat(ChatId id) {
  SATCHEL_TRY_ASSIGN(Connection * db, state_->writer());
  SATCHEL_TRY_ASSIGN(Transaction change, db->begin(Sync::full));
  for (const char* sql :
       {"DELETE FROM message_part WHERE message IN (SELECT id FROM message WHERE chat = ?1)",
        "DELETE FROM message WHERE chat = ?1",
        "DELETE FROM setting WHERE key GLOB 'chat.' || ?1 || '.*'"}) {
    SATCHEL_TRY_ASSIGN(Query rows, db->prepare(sql));
    SATCHEL_TRY(rows.bind(1, id.value).run());
  }
  {
    SATCHEL_TRY_ASSIGN(Query chat, db->prepare("DELETE FROM chat WHERE id = ?1 RETURNING id"));
    SATCHEL_TRY_ASSIGN(const bool found, chat.bind(1, id.value).step());
    if (!found) return chat_not_found(id);
    SATCHEL_TRY(chat.run());
  }
  SATCHEL_TRY(change.commit());
  std::erase_if(state_->streams, [&](const auto& entry) { return entry.second.chat == id.value; });
  SATCHEL_TRY_ASSIGN(const bool emptied, db->empty_wal());
  if (!emptied && state_->options.log)
    state_->options.log(LogLevel::warning, "library", "log not emptied reason=reader");
  return {};
}

}  // namespace satchel::storage
