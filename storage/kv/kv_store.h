// KvStore: the disposable file kvcache.db: packed blocks of caches, one snapshot per key. Losing it
// costs time, never words.
//   invariants 1 a manifest points only to blocks that are stored
//              2 after commit a cache has the blocks of its newest manifest and no others
//              3 block_bytes() <= quota_bytes: caches used longest ago give way, never the one that
//                is written and never the one read last
//              4 a file that is damaged or of another version is deleted and made anew, at opening
//                or when the damage is met; one of another library is put aside under that library's
//                name, and taken up again when it is opened. notice() says so
//   errors     DISK_FULL, READ_ONLY, CACHE_DAMAGED, CACHE_QUOTA, STORAGE, MEMORY; BLOCK_NOT_FOUND,
//              BLOCK_SIZE, BLOCK_ID, GENERATION
//   threads    one call at a time
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "kernels/base/log_sink.h"
#include "kernels/base/result.h"
#include "kvcache/snapshot/block_store.h"
#include "storage/library/library.h"

namespace satchel::storage {

struct KvOptions {
  std::filesystem::path path = {};  // kvcache.db in a folder that is ours
  OpenMode mode = OpenMode::read_write;
  LogSink log = {};
  std::string library_id = {};    // whose caches these are; letters and digits
  bool is_new_library = false;    // begun by this opening: then nothing is promised of older chats
  std::uint64_t quota_bytes = 0;  // of all blocks; 0: no limit
  std::string vfs = {};           // SQLite's default if empty
};

// A row of the list of saved caches; bytes as they are stored.
struct SavedCache {
  kvcache::CacheKey key;
  std::string model = {}, recipe = {};  // empty: no manifest yet
  std::uint64_t n_tokens = 0, block_bytes = 0;
};

class KvStore final : public kvcache::BlockStore {
 public:
  // errors  not_found: read_only, and there is none yet; storage: the folder cannot be written
  static Result<std::unique_ptr<KvStore>> open(KvOptions options);
  ~KvStore() override;
  KvStore(KvStore&&) = delete;

  // Why the saved caches were thrown away or put aside, for people; empty: they were not.
  const std::string& notice() const;

  Result<std::optional<kvcache::SavedManifest>> newest_manifest(
      const kvcache::CacheKey& key) override;
  Result<std::vector<std::byte>> block(const kvcache::CacheKey& key, kvcache::BlockId id) override;
  // A block that no manifest points to yet may be put again (a crash left it behind).
  Result<void> put_block(const kvcache::CacheKey& key, kvcache::BlockId id,
                         std::span<const std::byte> bytes) override;
  Result<void> commit(const kvcache::CacheKey& key, const kvcache::SavedCommit& saved) override;
  // Overwrites the cache's blocks, empties the write-ahead log and gives the space back.
  Result<void> drop(const kvcache::CacheKey& key) override;
  const kvcache::StreamCoder* coder() const override;
  // As drop() for every cache that belongs to the chat.
  Result<void> drop_chat(kvcache::ChatId chat);

  Result<std::vector<SavedCache>> caches();  // that have a manifest or blocks, in order of making
  Result<std::uint64_t> block_bytes();       // of all caches
  Result<std::uint64_t> block_bytes(const kvcache::CacheKey& key);  // of one

  struct State;  // state.h

 private:
  explicit KvStore(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace satchel::storage
