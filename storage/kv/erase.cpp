#include "storage/kv/erase.h"

namespace satchel::storage {
namespace {
using kvcache::RecordId;

// Chosen: as much as the log keeps of a disk between two saves (journal_size_limit).
constexpr std::uint64_t kErasedAtOnce = 16u << 20;

// The least recently used; 0: none may go.
Result<std::int64_t> next_to_go(Connection& db, const KvStore::State& state, std::int64_t writing) {
  SATCHEL_TRY_ASSIGN(Query query, db.prepare("SELECT id FROM cache WHERE id NOT IN (?1, ?2) "
                                             "ORDER BY used_seq LIMIT 1"));
  query.bind(1, writing).bind(2, state.last_read);
  SATCHEL_TRY_ASSIGN(const bool row, query.step());
  return row ? query.integer_at(0) : std::int64_t{0};
}

Result<std::vector<std::int64_t>> caches_of(Connection& db, runtime::ChatId chat) {
  SATCHEL_TRY_ASSIGN(Query query, db.prepare("SELECT id FROM cache WHERE chat = ?1"));
  return query.bind(1, chat.value).all([](const Query& row) { return row.integer_at(0); });
}

}  // namespace

Result<void> return_space(Connection& db, const LogSink& log) {
  SATCHEL_TRY(db.checkpoint());
  for (;;) {
    SATCHEL_TRY_ASSIGN(const std::int64_t n_free, db.integer("PRAGMA freelist_count"));
    if (n_free == 0) break;
    SATCHEL_TRY(db.exec("PRAGMA incremental_vacuum(512)"));  // of 32 KiB: kErasedAtOnce
    SATCHEL_TRY(db.checkpoint());
    SATCHEL_TRY_ASSIGN(const std::int64_t n_left, db.integer("PRAGMA freelist_count"));
    if (n_left >= n_free) break;
  }
  SATCHEL_TRY_ASSIGN(const bool emptied, db.empty_wal());
  if (!emptied && log) log(LogLevel::warning, "kvcache", "log not emptied reason=reader");
  return {};
}

Result<std::vector<RecordRow>> rows_where(Connection& db, const char* condition,
                                          std::int64_t cache) {
  const std::string sql = std::string("SELECT id, cache, bytes_id, size_bytes, live FROM block ") +
                          condition + " ORDER BY cache, id";
  SATCHEL_TRY_ASSIGN(Query query, db.prepare(sql.c_str()));
  return query.bind(1, cache).all([](const Query& row) {
    return RecordRow{static_cast<RecordId>(row.integer_at(0)), row.integer_at(1), row.integer_at(2),
                     static_cast<std::uint64_t>(row.integer_at(3)), row.integer_at(4) != 0};
  });
}

Result<void> erase_record(Connection& db, const RecordRow& row) {
  SATCHEL_TRY_ASSIGN(Query record, db.prepare("DELETE FROM block WHERE cache = ?1 AND id = ?2"));
  SATCHEL_TRY(record.bind(1, row.cache).bind(2, static_cast<std::int64_t>(row.id)).run());
  SATCHEL_TRY_ASSIGN(Query bytes, db.prepare("DELETE FROM block_bytes WHERE id = ?1 AND NOT EXISTS "
                                             "(SELECT 1 FROM block WHERE bytes_id = ?1)"));
  return bytes.bind(1, row.bytes_id).run();
}

Result<void> erase(Connection& db, std::span<const RecordRow> rows) {
  while (!rows.empty()) {
    SATCHEL_TRY_ASSIGN(Transaction change, db.begin(Sync::normal));
    std::uint64_t n_bytes = 0;
    for (; !rows.empty() && n_bytes < kErasedAtOnce; rows = rows.subspan(1)) {
      SATCHEL_TRY(erase_record(db, rows.front()));
      n_bytes += rows.front().n_bytes;
    }
    SATCHEL_TRY(change.commit());
    SATCHEL_TRY(db.checkpoint());
  }
  return {};
}

Result<void> erase_cache(Connection& db, std::int64_t cache) {
  const auto run = [&](const char* sql) -> Result<void> {
    SATCHEL_TRY_ASSIGN(Query query, db.prepare(sql));
    return query.bind(1, cache).run();
  };
  {
    SATCHEL_TRY_ASSIGN(Transaction change, db.begin(Sync::normal));
    SATCHEL_TRY(run("UPDATE block SET live = 0 WHERE cache = ?1 AND live = 1"));
    SATCHEL_TRY(
        run("UPDATE cache SET generation = NULL, manifest = NULL, note = '', model = NULL, "
            "recipe = NULL, n_tokens = NULL WHERE id = ?1"));
    SATCHEL_TRY(change.commit());
  }
  SATCHEL_TRY_ASSIGN(const std::vector<RecordRow> rows, rows_where(db, "WHERE cache = ?1", cache));
  SATCHEL_TRY(erase(db, rows));
  return run("DELETE FROM cache WHERE id = ?1");
}

Result<std::uint64_t> stored_bytes(Connection& db) {
  SATCHEL_TRY_ASSIGN(
      const std::int64_t sum,
      db.integer("SELECT (SELECT coalesce(sum(size_bytes), 0) FROM (SELECT DISTINCT bytes_id, "
                 "size_bytes FROM block)) + (SELECT coalesce(sum(length(manifest)), 0) FROM "
                 "cache)"));
  return static_cast<std::uint64_t>(sum);
}

Result<std::uint64_t> bytes_beside(Connection& db, std::int64_t cache, std::int64_t other) {
  SATCHEL_TRY_ASSIGN(
      Query query,
      db.prepare("SELECT (SELECT coalesce(sum(size_bytes), 0) FROM block WHERE cache = ?1 AND "
                 "bytes_id NOT IN (SELECT bytes_id FROM block WHERE cache = ?2)) + (SELECT "
                 "coalesce(sum(length(manifest)), 0) FROM cache WHERE id = ?1)"));
  SATCHEL_TRY_ASSIGN(const std::int64_t sum, query.bind(1, cache).bind(2, other).integer());
  return static_cast<std::uint64_t>(sum);
}

Result<void> evict_to_fit(Connection& db, const KvStore::State& state, std::int64_t saved) {
  constexpr const char* kUnusedOfIt = "WHERE live = 0 AND cache = ?1";
  constexpr const char* kUnusedOfOthers = "WHERE live = 0 AND cache <> ?1";
  SATCHEL_TRY_ASSIGN(std::vector<RecordRow> unused, rows_where(db, kUnusedOfIt, saved));
  SATCHEL_TRY(erase(db, unused));
  for (bool first = true;; first = false) {
    SATCHEL_TRY_ASSIGN(const std::uint64_t sum, stored_bytes(db));
    const std::uint64_t quota = state.options.quota_bytes;
    if (quota == 0 || sum <= quota) return {};
    if (first) {
      SATCHEL_TRY_ASSIGN(unused, rows_where(db, kUnusedOfOthers, saved));
      SATCHEL_TRY(erase(db, unused));
      continue;
    }
    SATCHEL_TRY_ASSIGN(const std::int64_t oldest, next_to_go(db, state, saved));
    if (oldest == 0) return {};
    SATCHEL_TRY(erase_cache(db, oldest));
    if (state.options.log)
      state.options.log(LogLevel::info, "kvcache", "gave way cache=" + std::to_string(oldest));
  }
}

Result<void> KvStore::drop(const kvcache::CacheKey& key) {
  return state_->writing([&](Connection& db) -> Result<void> {
    SATCHEL_TRY_ASSIGN(const std::int64_t cache, cache_id(db, key));
    if (cache != 0) SATCHEL_TRY(erase_cache(db, cache));
    return return_space(db, state_->options.log);
  });
}

Result<void> KvStore::disown(const kvcache::CacheKey& key) {
  return state_->writing([&](Connection& db) -> Result<void> {
    SATCHEL_TRY_ASSIGN(Query query, db.prepare("UPDATE cache SET chat = NULL WHERE key = ?1"));
    return query.bind(1, key.name).run();
  });
}

Result<void> KvStore::drop_chat(runtime::ChatId chat) {
  return state_->writing([&](Connection& db) -> Result<void> {
    SATCHEL_TRY_ASSIGN(const std::vector<std::int64_t> caches, caches_of(db, chat));
    for (const std::int64_t cache : caches) SATCHEL_TRY(erase_cache(db, cache));
    return return_space(db, state_->options.log);
  });
}

}  // namespace satchel::storage
