#include <algorithm>

#include "storage/kv/state.h"

namespace satchel::storage {
namespace {
using kvcache::BlockId;
using kvcache::ChatId;

constexpr std::uint64_t kNumberMax = INT64_MAX;       // SQLite's integers
constexpr std::size_t kManifestBytesMax = 64u << 20;  // chosen: half of what a row may have

struct Row {
  BlockId id;
  std::int64_t bytes_id;
};

Result<std::vector<Row>> rows_of(Connection& db, ChatId chat) {
  SATCHEL_TRY_ASSIGN(Query query,
                     db.prepare("SELECT id, bytes_id FROM block WHERE chat = ?1 ORDER BY id"));
  query.bind(1, chat.value);
  std::vector<Row> rows;
  for (;;) {
    SATCHEL_TRY_ASSIGN(const bool row, query.step());
    if (!row) return rows;
    rows.push_back({static_cast<BlockId>(query.integer_at(0)), query.integer_at(1)});
  }
}

Result<void> erase_block(Connection& db, ChatId chat, const Row& row) {
  SATCHEL_TRY_ASSIGN(Query bytes, db.prepare("DELETE FROM block_bytes WHERE id = ?1"));
  SATCHEL_TRY(bytes.bind(1, row.bytes_id).run());
  SATCHEL_TRY_ASSIGN(Query block, db.prepare("DELETE FROM block WHERE chat = ?1 AND id = ?2"));
  return block.bind(1, chat.value).bind(2, static_cast<std::int64_t>(row.id)).run();
}

// A block left behind by a crash goes; one that the manifest points to stays, and is an error.
Result<void> clear_place(Connection& db, ChatId chat, BlockId id) {
  SATCHEL_TRY_ASSIGN(Query query, db.prepare("SELECT live, bytes_id FROM block WHERE chat = ?1 AND "
                                             "id = ?2"));
  query.bind(1, chat.value).bind(2, static_cast<std::int64_t>(id));
  SATCHEL_TRY_ASSIGN(const bool row, query.step());
  if (!row) return {};
  const bool live = query.integer_at(0) != 0;
  const Row old{id, query.integer_at(1)};
  SATCHEL_TRY(query.run());
  if (live)
    return Error{ErrorKind::invalid, "BLOCK_ID",
                 "Block " + std::to_string(id) +
                     " is part of the saved cache already. Nothing was "
                     "changed."};
  return erase_block(db, chat, old);
}

Result<void> insert_block(Connection& db, ChatId chat, BlockId id,
                          std::span<const std::byte> bytes) {
  SATCHEL_TRY_ASSIGN(Query insert_bytes,
                     db.prepare("INSERT INTO block_bytes(bytes) VALUES(?1) RETURNING id"));
  SATCHEL_TRY_ASSIGN(const std::int64_t bytes_id, insert_bytes.bind(1, bytes).integer());
  SATCHEL_TRY_ASSIGN(Query insert, db.prepare("INSERT INTO block(chat, id, bytes_id, size_bytes, "
                                              "live) VALUES(?1, ?2, ?3, ?4, 0)"));
  insert.bind(1, chat.value).bind(2, static_cast<std::int64_t>(id)).bind(3, bytes_id);
  return insert.bind(4, static_cast<std::int64_t>(bytes.size())).run();
}

Result<void> check_generation(Connection& db, ChatId chat, std::uint64_t generation) {
  SATCHEL_TRY_ASSIGN(Query query, db.prepare("SELECT generation FROM chat WHERE id = ?1 AND "
                                             "generation IS NOT NULL"));
  SATCHEL_TRY_ASSIGN(const bool row, query.bind(1, chat.value).step());
  const auto newest = row ? static_cast<std::uint64_t>(query.integer_at(0)) : 0;
  if (generation > kNumberMax || (row && generation <= newest))
    return Error{ErrorKind::invalid, "GENERATION",
                 "Generation " + std::to_string(generation) + " does not follow " +
                     std::to_string(newest) + ". The saved cache is as it was."};
  return {};
}

// Deletes the blocks that are not in `live`; all that are must be stored.
Result<void> sweep(Connection& db, ChatId chat, std::vector<BlockId> live) {
  std::sort(live.begin(), live.end());
  live.erase(std::unique(live.begin(), live.end()), live.end());
  SATCHEL_TRY_ASSIGN(const std::vector<Row> rows, rows_of(db, chat));
  auto next = live.begin();
  for (const Row& row : rows) {
    if (next != live.end() && *next < row.id) return block_not_found(*next);
    if (next != live.end() && *next == row.id)
      ++next;
    else
      SATCHEL_TRY(erase_block(db, chat, row));
  }
  if (next != live.end()) return block_not_found(*next);
  return {};
}

Result<void> point_to(Connection& db, ChatId chat, std::uint64_t generation,
                      std::span<const std::byte> manifest) {
  SATCHEL_TRY_ASSIGN(Query live,
                     db.prepare("UPDATE block SET live = 1 WHERE chat = ?1 AND live = 0"));
  SATCHEL_TRY(live.bind(1, chat.value).run());
  SATCHEL_TRY_ASSIGN(Query update,
                     db.prepare("UPDATE chat SET generation = ?2, manifest = ?3 WHERE "
                                "id = ?1"));
  update.bind(1, chat.value).bind(2, static_cast<std::int64_t>(generation));
  return update.bind(3, manifest).run();
}
}  // namespace

Error block_not_found(BlockId id) {
  return {ErrorKind::not_found, "BLOCK_NOT_FOUND",
          "Block " + std::to_string(id) +
              " of the saved cache is not there. No message is "
              "affected."};
}

Result<void> touch(Connection& db, ChatId chat) {
  SATCHEL_TRY_ASSIGN(Query upsert,
                     db.prepare("INSERT INTO chat(id, used_seq) SELECT ?1, coalesce(max(used_seq), "
                                "0) + 1 FROM chat WHERE true ON CONFLICT(id) DO UPDATE SET "
                                "used_seq = excluded.used_seq"));
  return upsert.bind(1, chat.value).run();
}

Result<void> erase_chat(Connection& db, std::int64_t chat) {
  for (const char* sql :
       {"DELETE FROM block_bytes WHERE id IN (SELECT bytes_id FROM block WHERE chat = ?1)",
        "DELETE FROM block WHERE chat = ?1", "DELETE FROM chat WHERE id = ?1"}) {
    SATCHEL_TRY_ASSIGN(Query rows, db.prepare(sql));
    SATCHEL_TRY(rows.bind(1, chat).run());
  }
  return {};
}

Result<void> make_room(Connection& db, const KvStore::State& state, ChatId writing,
                       std::size_t coming_bytes) {
  const std::uint64_t quota = state.options.quota_bytes;
  for (;;) {
    SATCHEL_TRY_ASSIGN(const std::int64_t sum,
                       db.integer("SELECT coalesce(sum(size_bytes), 0) FROM block"));
    if (quota == 0 || static_cast<std::uint64_t>(sum) + coming_bytes <= quota) return {};
    std::int64_t oldest = 0;
    {
      SATCHEL_TRY_ASSIGN(Query query, db.prepare("SELECT id FROM chat WHERE id NOT IN (?1, ?2) "
                                                 "ORDER BY used_seq LIMIT 1"));
      query.bind(1, writing.value).bind(2, state.last_read);
      SATCHEL_TRY_ASSIGN(const bool row, query.step());
      if (!row)
        return Error{
            ErrorKind::storage, "CACHE_QUOTA",
            "This chat's cache is larger than what saved caches may take (" +
                std::to_string(quota >> 20) +
                " MiB), so it is not saved. No message is affected; opening the chat reads "
                "it again. Raise the quota to save it."};
      oldest = query.integer_at(0);
    }
    SATCHEL_TRY(erase_chat(db, oldest));
    if (state.options.log)
      state.options.log(LogLevel::info, "kvcache", "gave way chat=" + std::to_string(oldest));
  }
}

Result<void> KvStore::put_block(ChatId chat, BlockId id, std::span<const std::byte> bytes) {
  if (bytes.empty() || bytes.size() > kvcache::kBlockBytesMax)
    return Error{ErrorKind::invalid, "BLOCK_SIZE",
                 "A block has 1 to " + std::to_string(kvcache::kBlockBytesMax) + " bytes, not " +
                     std::to_string(bytes.size()) + ". Nothing was saved."};
  if (id > kNumberMax)
    return Error{ErrorKind::invalid, "BLOCK_ID", "Block ids end at 2^63 - 1. Nothing was saved."};
  return state_->writing([&](Connection& db) -> Result<void> {
    SATCHEL_TRY_ASSIGN(Transaction change, db.begin(Sync::normal));
    SATCHEL_TRY(touch(db, chat));
    SATCHEL_TRY(clear_place(db, chat, id));
    SATCHEL_TRY(make_room(db, *state_, chat, bytes.size()));
    SATCHEL_TRY(insert_block(db, chat, id, bytes));
    return change.commit();
  });
}

Result<void> KvStore::commit(ChatId chat, std::uint64_t generation,
                             std::span<const std::byte> manifest, std::span<const BlockId> live) {
  if (manifest.size() > kManifestBytesMax)
    return Error{ErrorKind::invalid, "BLOCK_SIZE",
                 "A manifest has at most " + std::to_string(kManifestBytesMax) +
                     " bytes. The saved cache is as it was."};
  return state_->writing([&](Connection& db) -> Result<void> {
    SATCHEL_TRY_ASSIGN(Transaction change, db.begin(Sync::normal));
    SATCHEL_TRY(check_generation(db, chat, generation));
    SATCHEL_TRY(touch(db, chat));
    SATCHEL_TRY(sweep(db, chat, {live.begin(), live.end()}));
    SATCHEL_TRY(point_to(db, chat, generation, manifest));
    return change.commit();
  });
}

Result<void> KvStore::drop(ChatId chat) {
  return state_->writing([&](Connection& db) -> Result<void> {
    {
      SATCHEL_TRY_ASSIGN(Transaction change, db.begin(Sync::normal));
      SATCHEL_TRY(erase_chat(db, chat.value));
      SATCHEL_TRY(change.commit());
    }
    SATCHEL_TRY(db.exec("PRAGMA incremental_vacuum"));
    SATCHEL_TRY_ASSIGN(const bool emptied, db.empty_wal());
    if (!emptied && state_->options.log)
      state_->options.log(LogLevel::warning, "kvcache", "log not emptied reason=reader");
    return {};
  });
}

}  // namespace satchel::storage
