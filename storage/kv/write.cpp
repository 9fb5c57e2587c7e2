#include <algorithm>

#include "kernels/base/size_text.h"
#include "storage/kv/erase.h"
#include "storage/kv/state.h"

namespace satchel::storage {
namespace {
using kvcache::CacheKey;
using kvcache::RecordId;

constexpr std::uint64_t kNumberMax = INT64_MAX;       // SQLite's integers
constexpr std::size_t kManifestBytesMax = 64u << 20;  // chosen: half of what a row may have

Error over_quota(std::uint64_t quota, bool is_alone) {
  return {ErrorKind::storage, "CACHE_QUOTA",
          std::string("This chat's cache ") +
              (is_alone ? "is larger than" : "and that of the chat opened last are larger than") +
              " the quota for saved caches (" + size_text(quota) +
              "), so it is not saved. No message is affected; the chat is processed again when "
              "opened. Raise the quota (--cache-quota), or choose a smaller preset for the chat."};
}

// Before any other cache gives way for it.
Result<void> check_quota(Connection& db, const KvStore::State& state, std::int64_t cache,
                         std::uint64_t n_bytes) {
  const std::uint64_t quota = state.options.quota_bytes;
  std::uint64_t spared = 0;
  if (state.last_read != 0 && state.last_read != cache) {
    SATCHEL_TRY_ASSIGN(spared, bytes_beside(db, state.last_read, cache));
  }
  return quota == 0 || n_bytes + spared <= quota ? Result<void>()
                                                 : over_quota(quota, n_bytes > quota);
}

// A record left behind by a crash goes; one that the manifest points to stays, and is an error.
Result<void> clear_place(Connection& db, std::int64_t cache, RecordId id) {
  SATCHEL_TRY_ASSIGN(Query query,
                     db.prepare("SELECT live, bytes_id, size_bytes FROM block WHERE cache = ?1 "
                                "AND id = ?2"));
  query.bind(1, cache).bind(2, static_cast<std::int64_t>(id));
  SATCHEL_TRY_ASSIGN(const bool row, query.step());
  if (!row) return {};
  const bool live = query.integer_at(0) != 0;
  const RecordRow old{id, cache, query.integer_at(1),
                      static_cast<std::uint64_t>(query.integer_at(2)), live};
  SATCHEL_TRY(query.run());
  if (live)
    return Error{ErrorKind::invalid, "BLOCK_ID",
                 "Record " + std::to_string(id) +
                     " is already part of the saved cache. Nothing was changed."};
  return erase_record(db, old);
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

// Marks the records in `live`, all of which must be stored, and no others; their bytes.
Result<std::uint64_t> mark_live(Connection& db, std::int64_t cache, std::vector<RecordId> live) {
  std::sort(live.begin(), live.end());
  live.erase(std::unique(live.begin(), live.end()), live.end());
  SATCHEL_TRY_ASSIGN(const std::vector<RecordRow> rows, rows_where(db, "WHERE cache = ?1", cache));
  std::uint64_t n_bytes = 0;
  auto next = live.begin();
  for (const RecordRow& row : rows) {
    if (next != live.end() && *next < row.id) return record_not_found(*next);
    const bool is_live = next != live.end() && *next == row.id;
    if (is_live) ++next;
    if (is_live) n_bytes += row.n_bytes;
    if (is_live == row.is_live) continue;
    SATCHEL_TRY_ASSIGN(Query mark,
                       db.prepare("UPDATE block SET live = ?3 WHERE cache = ?1 AND id = ?2"));
    mark.bind(1, cache).bind(2, static_cast<std::int64_t>(row.id));
    SATCHEL_TRY(mark.bind(3, std::int64_t{is_live}).run());
  }
  if (next != live.end()) return record_not_found(*next);
  return n_bytes;
}

Result<void> point_to(Connection& db, std::int64_t cache, const kvcache::SavedCommit& saved) {
  SATCHEL_TRY_ASSIGN(Query update,
                     db.prepare("UPDATE cache SET generation = ?2, manifest = ?3, model = ?4, "
                                "recipe = ?5, n_tokens = ?6, note = ?7 WHERE id = ?1"));
  update.bind(1, cache).bind(2, static_cast<std::int64_t>(saved.generation));
  update.bind(3, saved.manifest).bind(4, saved.model).bind(5, saved.recipe);
  return update.bind(6, static_cast<std::int64_t>(saved.n_tokens)).bind(7, saved.note).run();
}

Result<std::uint64_t> unused_bytes(Connection& db, std::int64_t cache) {
  SATCHEL_TRY_ASSIGN(Query query, db.prepare("SELECT coalesce(sum(size_bytes), 0) FROM block WHERE "
                                             "cache = ?1 AND live = 0"));
  SATCHEL_TRY_ASSIGN(const std::int64_t sum, query.bind(1, cache).integer());
  return static_cast<std::uint64_t>(sum);
}

// What failed leaves no records that nobody will point to.
Result<void> or_clear(Result<void> done, Connection& db, std::int64_t cache) {
  if (done.ok() || done.error().code != "CACHE_QUOTA") return done;
  const auto clear = [&]() -> Result<void> {
    SATCHEL_TRY_ASSIGN(const std::vector<RecordRow> unused,
                       rows_where(db, "WHERE live = 0 AND cache = ?1", cache));
    SATCHEL_TRY(erase(db, unused));
    SATCHEL_TRY_ASSIGN(Query empty,
                       db.prepare("DELETE FROM cache WHERE id = ?1 AND generation IS NULL AND NOT "
                                  "EXISTS (SELECT 1 FROM block WHERE cache = ?1)"));
    return empty.bind(1, cache).run();
  };
  (void)clear();  // else it goes before other caches do
  return done;
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
    SATCHEL_TRY_ASSIGN(const std::int64_t known, cache_id(db, key));
    SATCHEL_TRY_ASSIGN(const std::uint64_t unused, unused_bytes(db, known));
    SATCHEL_TRY(or_clear(check_quota(db, *state_, known, unused + bytes.size()), db, known));
    SATCHEL_TRY_ASSIGN(Transaction change, db.begin(Sync::normal));
    SATCHEL_TRY_ASSIGN(const std::int64_t cache, touch(db, key));
    SATCHEL_TRY(clear_place(db, cache, id));
    SATCHEL_TRY(insert_record(db, cache, id, bytes));
    return change.commit();
  });
}

Result<void> KvStore::share_record(const CacheKey& from, RecordId id, const CacheKey& to) {
  return state_->writing([&](Connection& db) -> Result<void> {
    SATCHEL_TRY_ASSIGN(const std::int64_t other, cache_id(db, from));
    SATCHEL_TRY_ASSIGN(Transaction change, db.begin(Sync::normal));
    SATCHEL_TRY_ASSIGN(const std::int64_t cache, touch(db, to));
    SATCHEL_TRY(clear_place(db, cache, id));
    {
      SATCHEL_TRY_ASSIGN(Query share, db.prepare("INSERT INTO block(cache, id, bytes_id, "
                                                 "size_bytes, live) SELECT ?3, id, bytes_id, "
                                                 "size_bytes, 0 FROM block WHERE cache = ?1 AND "
                                                 "id = ?2 RETURNING id"));
      share.bind(1, other).bind(2, static_cast<std::int64_t>(id)).bind(3, cache);
      SATCHEL_TRY_ASSIGN(const bool is_there, share.step());
      if (!is_there) return record_not_found(id);
      SATCHEL_TRY(share.run());
    }
    return change.commit();
  });
}

Result<void> KvStore::commit(const CacheKey& key, const kvcache::SavedCommit& saved) {
  if (saved.manifest.size() > kManifestBytesMax)
    return Error{ErrorKind::invalid, "BLOCK_SIZE",
                 "A manifest may have at most " + std::to_string(kManifestBytesMax) +
                     " bytes. The saved cache is unchanged."};
  return state_->writing([&](Connection& db) -> Result<void> {
    SATCHEL_TRY_ASSIGN(const std::int64_t cache, touch(db, key));
    const auto point = [&]() -> Result<void> {
      SATCHEL_TRY_ASSIGN(Transaction change, db.begin(Sync::normal));
      SATCHEL_TRY(check_generation(db, cache, saved.generation));
      SATCHEL_TRY_ASSIGN(const std::uint64_t n_bytes,
                         mark_live(db, cache, {saved.live.begin(), saved.live.end()}));
      SATCHEL_TRY(check_quota(db, *state_, cache, n_bytes + saved.manifest.size()));
      SATCHEL_TRY(point_to(db, cache, saved));
      return change.commit();
    };
    SATCHEL_TRY(or_clear(point(), db, cache));
    // It is saved; what could not be erased goes with the next commit.
    const auto room = evict_to_fit(db, *state_, cache);
    if (!room.ok() && state_->options.log)
      state_->options.log(LogLevel::warning, "kvcache", "no room made code=" + room.error().code);
    return {};
  });
}

}  // namespace satchel::storage
