// What a Snapshot remembers between calls: which pages already lie in the store, and where.
#pragma once

#include <cstdint>
#include <vector>

#include "kvcache/snapshot/record.h"
#include "kvcache/snapshot/snapshot.h"
#include "kvcache/state/cache_state.h"

namespace satchel::kvcache {

struct StoredRecord {
  RecordEntry entry;
  std::vector<std::uint64_t> serials = {};  // of pages that were wanted
  std::size_t n_items = 0;                  // of pages: all, wanted or not
  Hash128 payload_hash = {};                // of others: the same again need not be written
};

// What the newest manifest of the store lists, as far as it can be built upon.
struct StoredSnapshot {
  std::uint64_t generation = 0;  // 0: nothing known
  RecordId next_record = 1;
  std::vector<StoredRecord> records = {};
  // Of the newest manifest: its text, and those before it.
  std::vector<std::int32_t> tokens = {};
  std::vector<EarlierText> earlier = {};
};

// Another cache, and what the store has of it.
struct SavedBeside {
  CacheState* cache;
  const StoredSnapshot* stored;
};

// Why a cache cannot take over what a manifest lists, whatever its text; none: it can.
RereadReason refusal_of(const CacheState& cache, const Manifest& manifest,
                        const SnapshotIdentity& identity);

struct Snapshot::State {
  Cache& cache;
  CacheState& lanes;  // of the cache
  RecordStore& store;
  CacheKey key;
  StoredSnapshot stored = {};
};

}  // namespace satchel::kvcache
