// Store: a user's folders, opened: the lock, library.db and kvcache.db.
//   owns    library.lock (flock; holds the process id while open, and so tells an unclean end),
//           one writing connection per file
//   needs   folders on a local disk; they are made, 0700, where missing; files are 0600. A folder
//           of another user is refused. Both folders may be the same
//   errors  LIBRARY_LOCKED (another process writes; open read_only to list), NO_LIBRARY (read_only,
//           nothing there yet), LIBRARY_DAMAGED, STORAGE
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

namespace satchel::storage {

struct StoreOptions {
  std::filesystem::path data_dir = {};   // precious
  std::filesystem::path cache_dir = {};  // disposable; gets a CACHEDIR.TAG unless it is data_dir
  const Clock* clock = nullptr;          // not owned; nullptr: the system's
  LogSink log = {};
  OpenMode mode = OpenMode::read_write;
  std::uint64_t quota_bytes = 8ull << 30;  // of saved caches; chosen, not measured; 0: no limit
  std::string vfs = {};                    // SQLite's default if empty
};

class Store {
 public:
  static Result<std::unique_ptr<Store>> open(StoreOptions options);
  ~Store();
  Store(Store&&) = delete;

  Library& library();
  // nullptr where there is no place for it: chats work, only reopening takes longer.
  KvStore* kv();
  // For people: why saved caches are not kept, or were thrown away; empty: all is well.
  const std::string& cache_notice() const;
  bool ended_unclean() const;  // the process before this one

  // The chat's messages and its saved cache, at once and for good.
  Result<void> delete_now(ChatId chat);
  // delete_now for all that were removed more than 30 days ago; how many.
  Result<std::size_t> purge_expired();

 private:
  struct State;
  explicit Store(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace satchel::storage
