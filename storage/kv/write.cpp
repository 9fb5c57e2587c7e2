#include <algorithm>

#include "storage/kv/state.h"

namespace satchel::storage {
namespace {
using kvcache::CacheKey;
using kvcache::RecordId;

constexpr std::uint64_t kNumberMax = INT64_MAX;       // SQLite's integers
constexpr std::size_t kManifestBytesMax = 64u << 20;  // chosen: half of what a row may have

struct Row {
  RecordId id;
  std::int64_t bytes_id;
};

Result<std::vector<Row>> rows_of(Connection& db, std::int64_t cache) {
  SATCHEL_TRY_ASSIGN(Query query,
                     db.prepare("SELECT id, bytes_id FROM block WHERE cache = ?1 ORDER BY id"));
  return query.bind(1, cache).all([](const Query& row) {
    return Row{static_cast<RecordId>(row.integer_at(0)), row.integer_at(1)};
  });
}

Result<void> erase_record(Connection& db, std::int64_t cache, const Row& row) {
  SATCHEL_TRY_ASSIGN(Query bytes, db.prepare("DELETE FROM block_bytes WHERE id = ?1"));
  SATCHEL_TRY(bytes.bind(1, row.bytes_id).run());
  SATCHEL_TRY_ASSIGN(Query record, db.prepare("DELETE FROM block WHERE cache = ?1 AND id = ?2"));
  return record.bind(1, cache).bind(2, static_cast<std::int64_t>(row.id)).run();
}

// A record left behind by a crash goes; one that the manifest points to stays, and is an error.
Result<void> clear_place(Connection& db, std::int64_t cache, RecordId id) {
  SATCHEL_TRY_ASSIGN(Query query,
                     db.prepare("SELECT live, bytes_id FROM block WHERE cache = ?1 AND "
                                "id = ?2"));
  query.bind(1, cache).bind(2, static_cast<std::int64_t>(id));
  SATCHEL_TRY_ASSIGN(const bool row, query.step());
  if (!row) return {};
  const bool live = query.integer_at(0) != 0;
  const Row old{id, query.integer_at(1)};
  SATCHEL_TRY(query.run());
  if (live)
    return Error{ErrorKind::invalid, "BLOCK_ID",
                 "Record " + std::to_string(id) +
                     " is already part of the saved cache. Nothing was changed."};
  return erase_record(db, cache, old);
}

Result<void> insert_record(Connection& db, std::int64_t cache, RecordId id,
                           std::span<const std::byte> bytes) {
  SATCHEL_TRY_ASSIGN(Query insert_bytes,
                     db.prepare("INSERT INTO block_bytes(bytes) VALUES(?1) RETURNING id"));
  SATCHEL_TRY_ASSIGN(const std::int64_t bytes_id, insert_bytes.bind(1, bytes).integer());
  SATCHEL_TRY_ASSIGN(Query insert, db.prepare("INSERT INTO block(cache, id, bytes_id, size_bytes, "
                                              "live) VALUES(?1, ?2, ?3, ?4, 0)"));
  insert.bind(1, cache).bind(2, static_cast<std::int64_t>(id)).bind(3, bytes_id);
  return insert.bind(4, static_cast<std::int64_t>(bytes.size())).run();
}

Result<void> check_generation(Connection& db, std::int64_t cache, std::uint64_t generation) {
  SATCHEL_TRY_ASSIGN(Query query, db.prepare("SELECT generation FROM cache WHERE id = ?1 AND "
                                             "generation IS NOT NULL"));
  SATCHEL_TRY_ASSIGN(const bool row, query.bind(1, cache).step());
  const auto newest = row ? static_cast<std::uint64_t>(query.integer_at(0)) : 0;
  if (generation > kNumberMax || (row && generation <= newest))
    return Error{ErrorKind::invalid, "GENERATION",
                 "Generation " + std::to_string(generation) + " does not follow " +
                     std::to_string(newest) + ". The saved cache is unchanged."};
  return {};
}

// Deletes the records that are not in `live`; all that are must be stored.
Result<void> sweep(Connection& db, std::int64_t cache, std::vector<RecordId> live) {
  std::sort(live.begin(), live.end());
  live.erase(std::unique(live.begin(), live.end()), live.end());
  SATCHEL_TRY_ASSIGN(const std::vector<Row> rows, rows_of(db, cache));
  auto next = live.begin();
  for (const Row& row : rows) {
    if (next != live.end() && *next < row.id) return record_not_found(*next);
    if (next != live.end() && *next == row.id)
      ++next;
    else
      SATCHEL_TRY(erase_record(db, cache, row));
  }
  if (next != live.end()) return record_not_found(*next);
  return {};
}

Result<void> point_to(Connection& db, std::int64_t cache, const kvcache::SavedCommit& saved) {
  SATCHEL_TRY_ASSIGN(Query live,
                     db.prepare("UPDATE block SET live = 1 WHERE cache = ?1 AND live = 0"));
  SATCHEL_TRY(live.bind(1, cache).run());
  SATCHEL_TRY_ASSIGN(Query update,
                     db.prepare("UPDATE cache SET generation = ?2, manifest = ?3, model = ?4, "
                                "recipe = ?5, n_tokens = ?6 WHERE id = ?1"));
  update.bind(1, cache).bind(2, static_cast<std::int64_t>(saved.generation));
  update.bind(3, saved.manifest).bind(4, saved.model).bind(5, saved.recipe);
  return update.bind(6, static_cast<std::int64_t>(saved.n_tokens)).run();
}
}  // namespace

Error record_not_found(RecordId id) {
  return {
      ErrorKind::not_found, "BLOCK_NOT_FOUND",
      "Record " + std::to_string(id) + " of the saved cache is missing. No message is affected."};
}

Result<std::int64_t> touch(Connection& db, const CacheKey& key) {
  SATCHEL_TRY_ASSIGN(Query upsert,
                     db.prepare("INSERT INTO cache(key, chat, used_seq) SELECT ?1, ?2, "
                                "coalesce(max(used_seq), 0) + 1 FROM cache WHERE true ON "
                                "CONFLICT(key) DO UPDATE SET used_seq = excluded.used_seq "
                                "RETURNING id"));
  return upsert.bind(1, key.name).bind(2, key.owner).integer();
}

Result<void> erase_cache(Connection& db, std::int64_t cache) {
  for (const char* sql :
       {"DELETE FROM block_bytes WHERE id IN (SELECT bytes_id FROM block WHERE cache = ?1)",
        "DELETE FROM block WHERE cache = ?1", "DELETE FROM cache WHERE id = ?1"}) {
    SATCHEL_TRY_ASSIGN(Query rows, db.prepare(sql));
    SATCHEL_TRY(rows.bind(1, cache).run());
  }
  return {};
}

Result<void> evict_to_fit(Connection& db, const KvStore::State& state, std::int64_t writing,
                          std::size_t coming_bytes) {
  const std::uint64_t quota = state.options.quota_bytes;
  for (;;) {
    SATCHEL_TRY_ASSIGN(const std::int64_t sum,
                       db.integer("SELECT coalesce(sum(size_bytes), 0) FROM block"));
    if (quota == 0 || static_cast<std::uint64_t>(sum) + coming_bytes <= quota) return {};
    std::int64_t oldest = 0;
    {
      SATCHEL_TRY_ASSIGN(Query query, db.prepare("SELECT id FROM cache WHERE id NOT IN (?1, ?2) "
                                                 "ORDER BY used_seq LIMIT 1"));
      query.bind(1, writing).bind(2, state.last_read);
      SATCHEL_TRY_ASSIGN(const bool row, query.step());
      if (!row)
        return Error{
            ErrorKind::storage, "CACHE_QUOTA",
            "This chat's cache is larger than the quota for saved caches (" +
                std::to_string(quota >> 20) +
                " MiB), so it is not saved. No message is affected; the chat is processed again "
                "when opened. Raise the quota to save the cache."};
      oldest = query.integer_at(0);
    }
    SATCHEL_TRY(erase_cache(db, oldest));
    if (state.options.log)
      state.options.log(LogLevel::info, "kvcache", "gave way cache=" + std::to_string(oldest));
  }
}

Result<void> KvStore::put_record(const CacheKey& key, RecordId id,
                                 std::span<const std::byte> bytes) {
  if (bytes.empty() || bytes.size() > kvcache::kRecordBytesMax)
    return Error{ErrorKind::invalid, "BLOCK_SIZE",
                 "A record must have 1 to " + std::to_string(kvcache::kRecordBytesMax) +
                     " bytes, not " + std::to_string(bytes.size()) + ". Nothing was saved."};
  if (id > kNumberMax)
    return Error{ErrorKind::invalid, "BLOCK_ID",
                 "Record ids must be below 2^63. Nothing was saved."};
  return state_->writing([&](Connection& db) -> Result<void> {
    SATCHEL_TRY_ASSIGN(Transaction change, db.begin(Sync::normal));
    SATCHEL_TRY_ASSIGN(const std::int64_t cache, touch(db, key));
    SATCHEL_TRY(clear_place(db, cache, id));
    SATCHEL_TRY(evict_to_fit(db, *state_, cache, bytes.size()));
    SATCHEL_TRY(insert_record(db, cache, id, bytes));
    return change.commit();
  });
}

Result<void> KvStore::commit(const CacheKey& key, const kvcache::SavedCommit& saved) {
  if (saved.manifest.size() > kManifestBytesMax)
    return Error{ErrorKind::invalid, "BLOCK_SIZE",
                 "A manifest may have at most " + std::to_string(kManifestBytesMax) +
                     " bytes. The saved cache is unchanged."};
  return state_->writing([&](Connection& db) -> Result<void> {
    SATCHEL_TRY_ASSIGN(Transaction change, db.begin(Sync::normal));
    SATCHEL_TRY_ASSIGN(const std::int64_t cache, touch(db, key));
    SATCHEL_TRY(check_generation(db, cache, saved.generation));
    SATCHEL_TRY(sweep(db, cache, {saved.live.begin(), saved.live.end()}));
    SATCHEL_TRY(point_to(db, cache, saved));
    return change.commit();
  });
}

namespace {

// Erases, then overwrites and gives back what was erased.
template <class Erase>
Result<void> erase_for_good(Connection& db, const LogSink& log, const Erase& erase) {
  {
    SATCHEL_TRY_ASSIGN(Transaction change, db.begin(Sync::normal));
    SATCHEL_TRY(erase());
    SATCHEL_TRY(change.commit());
  }
  SATCHEL_TRY(db.exec("PRAGMA incremental_vacuum"));
  SATCHEL_TRY_ASSIGN(const bool emptied, db.empty_wal());
  if (!emptied && log) log(LogLevel::warning, "kvcache", "log not emptied reason=reader");
  return {};
}

Result<std::vector<std::int64_t>> caches_of(Connection& db, runtime::ChatId chat) {
  SATCHEL_TRY_ASSIGN(Query query, db.prepare("SELECT id FROM cache WHERE chat = ?1"));
  return query.bind(1, chat.value).all([](const Query& row) { return row.integer_at(0); });
}

}  // namespace

Result<void> KvStore::drop(const CacheKey& key) {
  return state_->writing([&](Connection& db) -> Result<void> {
    return erase_for_good(db, state_->options.log, [&]() -> Result<void> {
      SATCHEL_TRY_ASSIGN(const std::int64_t cache, cache_id(db, key));
      return erase_cache(db, cache);
    });
  });
}

Result<void> KvStore::drop_chat(runtime::ChatId chat) {
  return state_->writing([&](Connection& db) -> Result<void> {
    return erase_for_good(db, state_->options.log, [&]() -> Result<void> {
      SATCHEL_TRY_ASSIGN(const std::vector<std::int64_t> caches, caches_of(db, chat));
      for (const std::int64_t cache : caches) SATCHEL_TRY(erase_cache(db, cache));
      return {};
    });
  });
}

}  // namespace satchel::storage
