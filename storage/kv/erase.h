// Erasing saved records. It writes zeros, which pass through the log: that may not become as long
// as what is erased, least of all on a full disk. So it goes in steps, each of which arrives in the
// file before the next begins. What a failure leaves belongs to no manifest and goes another time.
#pragma once

#include <span>
#include <vector>

#include "storage/kv/state.h"

namespace satchel::storage {

struct RecordRow {
  kvcache::RecordId id;
  std::int64_t cache, bytes_id;
  std::uint64_t n_bytes;
  bool is_live;
};

// The rows of `block` where `condition` holds, in which ?1 is `cache`.
Result<std::vector<RecordRow>> rows_where(Connection& db, const char* condition,
                                          std::int64_t cache);
// Of all records and manifests; what caches share once.
Result<std::uint64_t> stored_bytes(Connection& db);
// Of one cache's, without the records that another one has as well.
Result<std::uint64_t> bytes_beside(Connection& db, std::int64_t cache, std::int64_t other);

// In the caller's transaction. The bytes go with the last cache that has them.
Result<void> erase_record(Connection& db, const RecordRow& row);
// In transactions of its own, as the following ones.
Result<void> erase(Connection& db, std::span<const RecordRow> rows);
// Gives back what was erased, the zeros first: pages that are cut off keep what was in them. Each
// step moves pages through the log.
Result<void> return_space(Connection& db, const LogSink& log);
// A cache that is half erased must not be read: its manifest goes first.
Result<void> erase_cache(Connection& db, std::int64_t cache);
// Erases what no manifest points to, of the cache just saved at once, of others where the quota
// asks for it; then whole caches, the least recently used first, but not the one read last.
Result<void> evict_to_fit(Connection& db, const KvStore::State& state, std::int64_t saved);

}  // namespace satchel::storage
