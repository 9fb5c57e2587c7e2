// What a Snapshot remembers between calls: which pages already lie in the store, and where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kvcache/cache_state.h"
#include "kvcache/snapshot/block.h"
#include "kvcache/snapshot/snapshot.h"

namespace satchel::kvcache {

struct StoredBlock {
  BlockEntry entry;
  std::vector<std::uint64_t> serials = {};  // of pages
  Hash128 payload_hash = {};                // of others: the same again need not be written
};

// What the newest manifest of the store lists, as far as it can be built upon.
struct StoredSnapshot {
  std::uint64_t generation = 0;  // 0: nothing known
  BlockId next_block = 1;
  std::vector<StoredBlock> blocks = {};
};

struct Snapshot::State {
  Cache& cache;
  CacheState& lanes;  // of the cache
  BlockStore& store;
  CacheKey key;
  StoredSnapshot stored = {};
};

}  // namespace satchel::kvcache
