// KvStore: the disposable file kvcache.db, which holds the saved records of caches, one snapshot
// per key. Losing it costs time, never messages.
//   invariants 1 a manifest refers only to stored records
//              2 after commit a cache has the records of its newest manifest; others are erased
//                then, or after the next commit where that fails
//              3 records and manifests take at most quota_bytes after commit, and those being
//                written as much again: the least recently used caches are evicted, but neither the
//                one being written nor the one read last. One that does not fit evicts none
//              4 a file that is damaged or of another version is deleted and recreated, at opening
//                or when the damage is found; one of schema 2 is migrated. A file of another
//                library is renamed after that library, and used again when that library is opened.
//                notice() reports both
//              5 erasing takes some 32 MiB of log, however much is erased
//              6 caches may share records. The bytes are stored and counted once, and erased with
//                the last of them
//   errors     DISK_FULL, READ_ONLY, CACHE_DAMAGED, CACHE_QUOTA, STORAGE, MEMORY; BLOCK_NOT_FOUND,
//              BLOCK_SIZE, BLOCK_ID, GENERATION
//   threads    one call at a time, from any thread
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "kernels/base/log_sink.h"
#include "kernels/base/result.h"
#include "kvcache/snapshot/record_store.h"
#include "kvcache/snapshot/thin.h"
#include "storage/library/library.h"

namespace satchel::storage {

struct KvOptions {
  std::filesystem::path path = {};  // kvcache.db in a folder that is ours
  OpenMode mode = OpenMode::read_write;
  LogSink log = {};
  std::string library_id = {};    // the library that owns the caches; letters and digits
  bool is_new_library = false;    // created just now: messages then promise nothing of older chats
  std::uint64_t quota_bytes = 0;  // for all records and manifests; 0: no limit
  std::string vfs = {};           // SQLite's default if empty
  std::string key = {};           // as the library's
};

using kvcache::SavedCache;

// Deletes the caches of other libraries, put aside in this folder, that were last written before.
void delete_put_aside(const std::filesystem::path& folder, std::int64_t before_ms);

class KvStore final : public kvcache::RecordStore {
 public:
  // errors  not_found: read_only without an existing file; storage: the folder is not writable
  static Result<std::unique_ptr<KvStore>> open(KvOptions options);
  ~KvStore() override;
  KvStore(KvStore&&) = delete;

  // From now on it may be written, as if opened with read_write.
  //   errors  as open(): it stays as it was
  Result<void> allow_writing();
  // All caches in a new file under another key; empty: not encrypted.
  Result<void> copy_under_key(const std::filesystem::path& file, const std::string& key);
  // Message for the user: why saved caches were deleted or moved aside; empty: neither happened.
  const std::string& notice() const;

  Result<std::optional<kvcache::SavedManifest>> newest_manifest(
      const kvcache::CacheKey& key) override;
  Result<std::vector<std::byte>> record(const kvcache::CacheKey& key,
                                        kvcache::RecordId id) override;
  Result<void> record_into(const kvcache::CacheKey& key, kvcache::RecordId id,
                           std::vector<std::byte>& into) override;
  // May replace a record that no manifest refers to (left by a crash).
  Result<void> put_record(const kvcache::CacheKey& key, kvcache::RecordId id,
                          std::span<const std::byte> bytes) override;
  Result<void> share_record(const kvcache::CacheKey& from, kvcache::RecordId id,
                            const kvcache::CacheKey& to) override;
  Result<void> commit(const kvcache::CacheKey& key, const kvcache::SavedCommit& saved) override;
  // Overwrites the cache's records in the file, then frees their space and empties the write-ahead
  // log. What a failure leaves is of no use any more, and goes with the next drop or eviction.
  Result<void> drop(const kvcache::CacheKey& key) override;
  const kvcache::StreamCoder* coder() const override;
  // kvcache::thin_saved(); counts as no use of the cache. Space is returned as drop() does.
  Result<kvcache::ThinReport> thin(const kvcache::CacheKey& key, const std::stop_token& stop = {});
  Result<std::uint64_t> taken_bytes();  // what the quota counts
  // drop() for every cache of the chat.
  Result<void> drop_chat(runtime::ChatId chat);

  // The cache has no owner from now on: it stays when the chat goes.
  Result<void> disown(const kvcache::CacheKey& key);

  Result<std::vector<SavedCache>> list() override;

  struct State;  // state.h

 private:
  explicit KvStore(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace satchel::storage
