#include "kvcache/snapshot/snapshot.h"

#include "kvcache/snapshot/snapshot_state.h"

namespace satchel::kvcache {

Snapshot::Snapshot(Cache& cache, BlockStore& store, ChatId chat)
    : state_(std::make_unique<State>(State{*cache.state_, store, chat})) {}
Snapshot::~Snapshot() = default;

}  // namespace satchel::kvcache
