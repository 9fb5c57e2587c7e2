// The state shared by the parts of KvStore.
#pragma once

#include <optional>

#include "storage/kv/kv_store.h"
#include "storage/sqlite/connection.h"

namespace satchel::storage {

struct KvStore::State {
  KvOptions options;
  std::string notice;
  std::optional<Connection> connection;  // none between a failure and the next call
  std::int64_t last_read = 0;            // id of the cache that the quota spares
  std::string other_library;             // the file's owner, if another library

  // The connection; reopened after a disk failure, and with a new file after damage.
  Result<Connection*> reader();
  Result<Connection*> writer();
  // Deletes the file.
  void discard(const Error& why);
  // Renames the file of another library, so that this library can have its own.
  Result<void> put_aside();

  // Runs `work` on the connection. Damage deletes all saved caches, because nothing else in a
  // damaged file can be trusted.
  template <class Work>
  auto reading(Work work) -> decltype(work(std::declval<Connection&>())) {
    return on(reader(), work);
  }
  template <class Work>
  auto writing(Work work) -> decltype(work(std::declval<Connection&>())) {
    return on(writer(), work);
  }

 private:
  Result<void> connect();
  Result<void> check_owner(Connection& db);

  template <class Work>
  auto on(Result<Connection*> db, Work& work) -> decltype(work(std::declval<Connection&>())) {
    if (!db.ok()) return db.error();
    auto done = work(*db.value());
    if (!done.ok() && done.error().kind == ErrorKind::corrupt) discard(done.error());
    return done;
  }
};

Error record_not_found(kvcache::RecordId id);
// The row id of a cache; 0: none.
Result<std::int64_t> cache_id(Connection& connection, const kvcache::CacheKey& key);
// Marks the cache as most recently used, creates its row if missing, and returns the row id.
Result<std::int64_t> touch(Connection& connection, const kvcache::CacheKey& key);

}  // namespace satchel::storage
