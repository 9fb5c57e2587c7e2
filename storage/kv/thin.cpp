// KvStore::thin: a saved cache becomes smaller, and keeps its place among those that may give way.
#include "kvcache/snapshot/thin.h"

#include "storage/kv/erase.h"

namespace satchel::storage {
namespace {

Result<std::vector<kvcache::RecordId>> shared_records(Connection& db, const std::string& cache) {
  SATCHEL_TRY_ASSIGN(
      Query query,
      db.prepare("SELECT b.id FROM block b JOIN cache c ON c.id = b.cache WHERE c.key = ?1 AND "
                 "EXISTS (SELECT 1 FROM block o WHERE o.bytes_id = b.bytes_id AND o.cache <> "
                 "b.cache)"));
  query.bind(1, cache);
  return query.all(
      [](const Query& row) { return static_cast<kvcache::RecordId>(row.integer_at(0)); });
}

}  // namespace

// Of all caches, what they share once.
Result<std::uint64_t> KvStore::taken_bytes() {
  return state_->reading([](Connection& db) { return stored_bytes(db); });
}

Result<kvcache::ThinReport> KvStore::thin(const kvcache::CacheKey& key,
                                          const std::stop_token& stop) {
  const std::int64_t last_read = state_->last_read;
  SATCHEL_TRY_ASSIGN(
      const std::int64_t used_seq, state_->reading([&](Connection& db) -> Result<std::int64_t> {
        SATCHEL_TRY_ASSIGN(Query query, db.prepare("SELECT used_seq FROM cache WHERE key = ?1"));
        SATCHEL_TRY_ASSIGN(const bool row, query.bind(1, key.name).step());
        return row ? query.integer_at(0) : std::int64_t{0};
      }));
  SATCHEL_TRY_ASSIGN(const std::vector<kvcache::RecordId> shared,
                     state_->reading([&](Connection& db) { return shared_records(db, key.name); }));
  const Result<kvcache::ThinReport> thinned = kvcache::thin_saved(*this, key, stop, shared);
  state_->last_read = last_read;
  SATCHEL_TRY(state_->writing([&](Connection& db) -> Result<void> {
    SATCHEL_TRY_ASSIGN(Query update, db.prepare("UPDATE cache SET used_seq = ?2 WHERE key = ?1"));
    SATCHEL_TRY(update.bind(1, key.name).bind(2, used_seq).run());
    const bool is_smaller = thinned.ok() && thinned->n_records > 0;
    return is_smaller ? return_space(db, state_->options.log) : Result<void>();
  }));
  return thinned;
}

}  // namespace satchel::storage
