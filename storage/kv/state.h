// What the parts of KvStore share.
#pragma once

#include <optional>

#include "storage/kv/kv_store.h"
#include "storage/sqlite/connection.h"

namespace satchel::storage {

struct KvStore::State {
  KvOptions options;
  std::string notice;
  std::optional<Connection> connection;  // none between a failure and the next call
  std::int64_t last_read = 0;            // id of a cache; spared by the quota
  std::string other_library;             // whose file lies there, if not this library's

  // The connection; made anew after a failure of the disk, and over a new file after damage.
  Result<Connection*> reader();
  Result<Connection*> writer();
  // Deletes the file.
  void discard(const Error& why);
  // Renames the file of another library, so that this one can have its own.
  Result<void> put_aside();

  // Runs `work` on the connection. Damage met on the way costs all saved caches, once: what an
  // intact file says beside it could not be trusted either.
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

Error block_not_found(kvcache::BlockId id);
// The row of a cache; 0: there is none.
Result<std::int64_t> cache_id(Connection& connection, const kvcache::CacheKey& key);
// Marks the cache as the one used last; makes its row if it is missing. Gives the row's id.
Result<std::int64_t> touch(Connection& connection, const kvcache::CacheKey& key);
// Deletes what is stored of a cache, inside the caller's transaction.
Result<void> erase_cache(Connection& connection, std::int64_t cache);
// Deletes caches used longest ago until `coming_bytes` more fit; never `writing` nor `last_read`.
//   errors  CACHE_QUOTA
Result<void> make_room(Connection& connection, const KvStore::State& state, std::int64_t writing,
                       std::size_t coming_bytes);

}  // namespace satchel::storage
