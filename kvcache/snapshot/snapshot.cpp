#include "kvcache/snapshot/snapshot.h"

#include "kvcache/snapshot/snapshot_state.h"

namespace satchel::kvcache {

Snapshot::Snapshot(Cache& cache, BlockStore& store, CacheKey key)
    : state_(std::make_unique<State>(State{cache, *cache.state_, store, std::move(key)})) {}
Snapshot::~Snapshot() = default;

}  // namespace satchel::kvcache
