// Snapshot: a cache's way to disk and back, page by page as the bytes lie in the arena; nothing is
// encoded again.
//   save     appends pages that are not stored yet, writes tails and lengths anew, then commits a
//            manifest. Caches that share pages (Cache::fork) are saved under keys of their own,
//            each with all it holds. What a cache held before its text was cut stays beside it, the
//            last kEarlierTextsMax times, as long as there is room. A stop ends one that is longer
//            than kSavedAnyway between two records: what was saved before stays, and the next save
//            begins anew.
//   restore  verifies identity and every checksum into an empty cache, from the saved text that has
//            most in common with the present one. Of an edited text, or where
//            a record is damaged, the cache holds the prefix up to the first position that is in
//            doubt; where nothing is left it is empty again. The report says what and why, so that
//            the caller reads the rest again.
//   shares   pages that another cache of the arena holds and has in the very same records are taken
//            from there, as a fork takes them: they are in memory once, and not read again
//   format   FORMAT.md. Decoders are safe on any bytes: xxh3 finds accidents, not attackers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>

#include "kvcache/cache/cache.h"
#include "kvcache/snapshot/record_store.h"
#include "kvcache/snapshot/reread.h"

namespace satchel::kvcache {

// What a saved cache is bound to.
struct SnapshotIdentity {
  std::string_view model;   // fingerprint of the model file
  std::string_view recipe;  // Recipe::hash
  // Saving: all that the cache has seen. Restoring: the text as it is now.
  std::span<const std::int32_t> tokens;
  std::uint16_t numerics = 1;  // version of the graph: which K and V a text has
};

// Bytes that are written although a stop was asked for, so that a short save is whole. Chosen: far
// less than 200 ms of a disk.
inline constexpr std::size_t kSavedAnyway = 4u << 20;

struct SaveReport {
  std::size_t n_tokens = 0;
  std::size_t bytes_written = 0, bytes_total = 0;
  std::size_t n_records_written = 0;
};

struct RestoreReport {
  // none: restored whole. With n_tokens > 0 not whole: the text was edited, or a record is damaged.
  RereadReason reason = RereadReason::nothing_saved;
  std::size_t n_tokens = 0;  // of the text that the cache now holds
  std::size_t bytes_read = 0;
  std::size_t bytes_shared = 0;  // of pages that other caches hold as well
  std::size_t n_thinned = 0;     // lane-tokens that came from records that were thinned (thin.h)
  std::string detail = {};       // what exactly, for people; may be empty
};

class Snapshot {
 public:
  // Bound to one cache and one key for its whole life; remembers what is stored, so that the next
  // save appends. Neither cache nor store is owned; both must outlive it.
  Snapshot(Cache& cache, RecordStore& store, CacheKey key);
  ~Snapshot();
  Snapshot(Snapshot&&) = delete;

  //   errors  cancelled/STOPPED; internal/CACHE_NAN: some of it is no number, and restore() would
  //           refuse it. What was saved before stays
  Result<SaveReport> save(const SnapshotIdentity& identity, const std::stop_token& stop = {});
  // needs   an empty cache. Errors are those of the store and the backend, and leave it empty; a
  //         bad snapshot is a reason, not an error.
  // beside  of caches with which pages may be shared; those of other arenas, and this one, count as
  //         absent
  Result<RestoreReport> restore(const SnapshotIdentity& identity,
                                std::span<const Snapshot* const> beside = {});
  // Of what this snapshot saved or restored last: the most tokens that a saved text has in common
  // with these.
  std::size_t n_saved(std::span<const std::int32_t> tokens) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// A key of a store.
struct SavedPlace {
  RecordStore& store;
  const CacheKey& key;
};
// What is saved in one place, in another one too that has nothing yet; inside a store the records
// are shared. False: nothing is, or its manifest is damaged.
//   note  of the copy (SavedCommit)
Result<bool> copy_saved(const SavedPlace& from, const SavedPlace& to, std::string_view note = {});

}  // namespace satchel::kvcache
