// Store: the open data of a user: the lock, library.db and kvcache.db.
//   owns    library.lock (flock; contains the process id while open, which reveals unclean ends),
//           and one writing connection per file
//   needs   folders; missing ones are created with mode 0700, files with 0600. A folder of another
//           user is refused. Both folders may be the same. On a network disk notices() says so.
//   errors  LIBRARY_LOCKED (another process is writing; open read_only to list), NO_LIBRARY
//           (read_only, but nothing exists), LIBRARY_DAMAGED, STORAGE
//   threads one call at a time, for the store and what it owns together
//   source  docs/reliability.md (rules for what is on disk)
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "storage/kv/kv_store.h"
#include "storage/library/library.h"
#include "storage/search/search_index.h"

namespace satchel::storage {

using runtime::LibraryCopy;

inline constexpr std::uint64_t kQuotaBytes = 8ull << 30;  // chosen, not measured

enum class StoreFolders {
  ours,   // nobody else keeps anything there: others' rights to them are taken away
  named,  // somebody chose them: so only where they are made here
};

struct StoreOptions {
  std::filesystem::path data_dir = {};   // precious
  std::filesystem::path cache_dir = {};  // disposable; gets a CACHEDIR.TAG unless it is data_dir
  StoreFolders folders = StoreFolders::named;
  const Clock* clock = nullptr;  // not owned; nullptr: the system's
  LogSink log = {};
  OpenMode mode = OpenMode::read_write;
  std::uint64_t quota_bytes = kQuotaBytes;  // of saved caches; 0: no limit
  std::uint64_t thin_after_days = 0;        // thin_unused(); 0: never
  std::string vfs = {};                     // SQLite's default if empty
  // A passphrase, or 32 bytes as x'64 hexadecimal digits': all databases are encrypted with it. A
  // store that is begun with one stays so until change_key(); empty: it is not encrypted.
  std::string key = {};
};

class Store final : public runtime::ChatStore {
 public:
  //   errors  LIBRARY_KEY: the key does not fit, or one is missing or not wanted. Nothing was
  //           written
  static Result<std::unique_ptr<Store>> open(StoreOptions options);
  // Whether a store in the folder asks for a key.
  static bool wants_key(const std::filesystem::path& data_dir);
  // Whether this build can encrypt: SQLite is SQLCipher.
  static bool can_encrypt();
  ~Store() override;
  Store(Store&&) = delete;

  Library& library() override;
  // nullptr where there is no place for it: chats work, only reopening takes longer. Where the
  // library could not be written at first, this tries again; a store once given stays valid.
  KvStore* kv();
  kvcache::RecordStore* records() override { return kv(); }
  std::vector<std::string> notices() const override;
  // For people: why saved caches are not kept, or were thrown away; empty: all is well.
  const std::string& cache_notice() const;
  // In all present chats; also where the store is open to read. The index lies in cache_dir.
  Result<std::vector<Found>> search(const SearchQuery& query) override;
  Result<std::vector<runtime::ShelvedDocument>> shelf() override;
  Result<void> keep_document(std::string_view title, std::string_view text) override;
  Result<std::string> document_text(std::string_view hash) override;
  Result<void> remove_document(std::string_view hash) override;
  bool ended_unclean() const;  // whether the previous process did

  // The chat's messages and its saved cache, at once and for good; not what was saved of documents
  // that somebody keeps. A cache that cannot be deleted
  // now has no messages: it goes with a later opening, since its chat is gone.
  Result<void> delete_now(ChatId chat) override;
  bool has_orphans() const;  // whether delete_now() left such caches
  // A copy of the library in a folder, which is made where it is missing: library-DATE.db, for its
  // owner alone. Possible while other processes write. What fails leaves neither file nor folder.
  Result<std::filesystem::path> back_up(const std::filesystem::path& folder);
  // The copies that migrations left.
  std::vector<LibraryCopy> copies() const override;
  Result<void> delete_copy(std::string_view name) override;
  // Closes the store and puts all that it holds under another key, the copies that migrations left
  // too; empty: it is no longer encrypted. The search index is deleted, and caches where they do
  // not fit a second time. The library has its new key last: after an error before that no word is
  // lost, but caches may be. What SQLite wrote before may stay in free space of the disk.
  //   errors  READ_ONLY, LIBRARY_DAMAGED; LIBRARY_LOCKED: others read; DISK_FULL, STORAGE
  static Result<void> change_key(std::unique_ptr<Store> store, const std::string& key);
  // delete_now for all that Library::expired_chats() gives; how many. Backups and other libraries'
  // caches that are a month old go with them.
  Result<std::size_t> purge_expired() override;
  // Of present chats whose last message is thin_after_days old; where three quarters of the quota
  // are taken, also of the others that were used longest ago, until they are not. Each once since
  // its last message; documents of the shelf stay as they are.
  Result<std::size_t> thin_unused(std::span<const ChatId> open,
                                  const std::stop_token& stop) override;

 private:
  struct State;
  explicit Store(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace satchel::storage
