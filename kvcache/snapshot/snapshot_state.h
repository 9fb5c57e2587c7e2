// What a Snapshot remembers between calls: which pages already lie in the store, and where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kvcache/cache_state.h"
#include "kvcache/snapshot/block.h"
#include "kvcache/snapshot/snapshot.h"

namespace satchel::kvcache {

struct StoredPages {
  BlockEntry entry;
  std::vector<PageSegment> segments;
};

// What the newest manifest of the store lists, as far as it can be built upon.
struct StoredSnapshot {
  std::uint64_t generation = 0;  // 0: nothing known
  BlockId next_block = 1;
  std::uint64_t n_clears = 0;  // of the cache, when this was true
  std::vector<StoredPages> pages = {};
  std::vector<std::uint32_t> n_pages = {};  // of each lane
};

struct Snapshot::State {
  CacheState& cache;
  BlockStore& store;
  ChatId chat;
  StoredSnapshot stored = {};
};

}  // namespace satchel::kvcache
