// Snapshot: a cache's way to disk and back, page by page as the bytes lie in the pool; nothing is
// encoded again.
//   save     appends pages that are not stored yet, writes sinks, tails and lengths anew, then
//            commits a manifest
//   restore  verifies identity and every checksum into an empty cache; on any doubt the cache is
//            empty again and the report says why, so that the caller reads the chat again
//   format   FORMAT.md. Decoders are safe on any bytes: xxh3 finds accidents, not attackers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "kvcache/cache.h"
#include "kvcache/snapshot/block_store.h"

namespace satchel::kvcache {

// What a saved cache is bound to.
struct SnapshotIdentity {
  std::string_view model;   // fingerprint of the model file
  std::string_view recipe;  // Recipe::hash
  std::span<const std::int32_t>
      tokens;  // save: all that the cache has seen; restore: the chat as it is now
};

struct SaveReport {
  std::size_t n_tokens = 0;
  std::size_t bytes_written = 0, bytes_total = 0;
  std::size_t n_blocks_written = 0;
};

enum class RestoreOutcome {
  restored,
  nothing_saved,
  other_model,   // CACHE_MODEL
  other_recipe,  // CACHE_RECIPE
  other_tokens,  // the chat was edited: the saved tokens are no prefix of it
  other_format,  // another version, another page layout, or more than this pool holds
  damaged,       // CACHE_PARTIAL
};
struct RestoreReport {
  RestoreOutcome outcome = RestoreOutcome::nothing_saved;
  std::size_t n_tokens = 0;  // of the chat that the cache now holds: 0 unless restored
  std::size_t bytes_read = 0;
  std::string message;  // for people; empty when restored
};

class Snapshot {
 public:
  // Bound to one cache and one chat for its whole life; remembers what is stored, so that the next
  // save appends. Neither is owned; both must outlive it.
  Snapshot(Cache& cache, BlockStore& store, ChatId chat);
  ~Snapshot();
  Snapshot(Snapshot&&) = delete;

  Result<SaveReport> save(const SnapshotIdentity& identity);
  // needs   an empty cache. Errors are those of the store; a bad snapshot is an outcome, not an
  // error.
  Result<RestoreReport> restore(const SnapshotIdentity& identity);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace satchel::kvcache
