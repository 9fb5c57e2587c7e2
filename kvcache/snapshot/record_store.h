// RecordStore: stores snapshots of caches as opaque records. Storage implements it over kvcache.db.
// This folder defines the contents of a record (FORMAT.md) and verifies them, so a store may safely
// return any bytes.
//   order   put_record … put_record -> commit: append, then point. A reader uses the newest
//           manifest. So a crash in between leaves the old snapshot intact, plus records that the
//           next commit deletes; such a record may be put again.
//   errors  storage; after an error the old manifest is still the newest
//   threads one call at a time, from any thread
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/base/result.h"
#include "kvcache/snapshot/stream_coder.h"

namespace satchel::kvcache {

// What a saved cache is known by. What the owner is (a chat) the cache does not know.
struct CacheKey {
  std::string name;                   // unique in a store
  std::optional<std::int64_t> owner;  // the store drops the cache together with its owner

  static CacheKey named(std::string_view name) {
    return {.name = std::string(name), .owner = std::nullopt};
  }
  friend auto operator<=>(const CacheKey&, const CacheKey&) = default;
};

using RecordId = std::uint64_t;  // chosen by the writer, rises inside a cache, never used twice
// A record ends once it has what is aimed at: large enough to read quickly, small enough to verify
// in pieces. The last one may be smaller than the least.
inline constexpr std::size_t kRecordBytesMin = 64u << 10, kRecordBytesAim = 1u << 20,
                             kRecordBytesMax = 8u << 20;

struct SavedManifest {
  std::uint64_t generation = 0;
  std::vector<std::byte> bytes;
  std::string note = {};  // as SavedCommit
};

// An entry in the list of saved caches; sizes as stored.
struct SavedCache {
  CacheKey key;
  std::string model = {}, recipe = {};  // empty: no manifest yet
  std::uint64_t n_tokens = 0, record_bytes = 0;
  std::string note = {};  // as SavedCommit
};

// The content of a commit. Model, recipe and n_tokens are for listing only.
struct SavedCommit {
  std::uint64_t generation = 0;  // must exceed the newest
  std::span<const std::byte> manifest = {};
  std::span<const RecordId> live = {};
  std::string_view model = {}, recipe = {};
  std::uint64_t n_tokens = 0;
  std::string_view note = {};  // a short text of the caller's; no part of the snapshot
};

class RecordStore {
 public:
  virtual ~RecordStore() = default;
  // No manifest is not an error.
  virtual Result<std::optional<SavedManifest>> newest_manifest(const CacheKey& key) = 0;
  // Fails with not_found if the record is missing.
  virtual Result<std::vector<std::byte>> record(const CacheKey& key, RecordId id) = 0;
  // The same into a buffer that may have held another record, so that its memory is used again.
  virtual Result<void> record_into(const CacheKey& key, RecordId id, std::vector<std::byte>& into) {
    SATCHEL_TRY_ASSIGN(into, record(key, id));
    return {};
  }
  virtual Result<void> put_record(const CacheKey& key, RecordId id,
                                  std::span<const std::byte> bytes) = 0;
  // The record is `to`'s as well, under the same id. A store that can keeps its bytes once.
  virtual Result<void> share_record(const CacheKey& from, RecordId id, const CacheKey& to) {
    SATCHEL_TRY_ASSIGN(const std::vector<std::byte> bytes, record(from, id));
    return put_record(to, id, bytes);
  }
  // One transaction: makes the manifest the newest and deletes records that are not in `live`.
  virtual Result<void> commit(const CacheKey& key, const SavedCommit& saved) = 0;
  virtual Result<void> drop(const CacheKey& key) = 0;
  // With a manifest or records, in order of creation. A store that has no list gives none.
  virtual Result<std::vector<SavedCache>> list() { return std::vector<SavedCache>(); }
  // Compresses and decompresses records; null: no compression. Lives as long as the store.
  virtual const StreamCoder* coder() const { return nullptr; }
};

}  // namespace satchel::kvcache
