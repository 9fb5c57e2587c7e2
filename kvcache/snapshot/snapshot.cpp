#include "kvcache/snapshot/snapshot.h"

#include "kvcache/snapshot/snapshot_state.h"

namespace satchel::kvcache {

Snapshot::Snapshot(Cache& cache, RecordStore& store, CacheKey key)
    : state_(std::make_unique<State>(State{cache, cache.state(), store, std::move(key)})) {}
Snapshot::~Snapshot() = default;

}  // namespace satchel::kvcache
