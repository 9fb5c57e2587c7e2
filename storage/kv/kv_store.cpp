#include "storage/kv/kv_store.h"

#include <algorithm>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "storage/folder/folder.h"
#include "storage/kv/state.h"
#include "storage/kv/zstd_coder.h"
#include "storage/migrations/migrations.h"

namespace satchel::storage {
namespace {
namespace fs = std::filesystem;
using kvcache::CacheKey;
using kvcache::RecordId;

constexpr std::int64_t kApplicationId = 0x534b5643;  // kv-001.sql
// Older files cost more to read again than they are worth code.
constexpr std::int64_t kOldestToMigrate = 2;

Error discarded(const std::string& why) {
  return {ErrorKind::corrupt, "CACHE_DAMAGED", why};
}

Error no_cache() {
  return {ErrorKind::not_found, "NO_CACHE", "There are no saved caches yet."};
}

Error opened_to_read() {
  return {ErrorKind::storage, "READ_ONLY",
          "The saved caches are open read-only. No message is affected."};
}

// Its name alone does not make it ours: it is kept.
Error somebody_elses(const fs::path& path) {
  return {ErrorKind::storage, "STORAGE",
          "\"" + path.string() +
              "\" was not made by Satchel, so no caches are saved there and it stays as it is. "
              "Choose another folder, or move the file away."};
}

Result<bool> has_our_tables(Connection& db) {
  SATCHEL_TRY_ASSIGN(const std::int64_t n,
                     db.integer("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND "
                                "name IN ('block', 'block_bytes')"));
  return n > 0;
}

// Its id; none: making the file was interrupted, or the power went before it was on the disk.
Result<std::optional<std::string>> owning_library(Connection& db) {
  SATCHEL_TRY_ASSIGN(Query stored, db.prepare("SELECT value FROM meta WHERE key = 'library_id'"));
  SATCHEL_TRY_ASSIGN(const bool found, stored.step());
  return found ? std::optional(stored.text_at(0)) : std::nullopt;
}

Error not_begun_whole() {
  return discarded("The saved caches were not begun whole before Satchel or the computer stopped.");
}

// Makes the tables in an empty file. Corrupt: not a file that this program can go on with.
Result<void> check_or_make(Connection& db, const KvOptions& options) {
  SATCHEL_TRY_ASSIGN(const std::int64_t version, db.integer("PRAGMA user_version"));
  SATCHEL_TRY_ASSIGN(const std::int64_t application, db.integer("PRAGMA application_id"));
  SATCHEL_TRY_ASSIGN(const std::int64_t n_tables, db.integer("SELECT count(*) FROM sqlite_schema"));
  const bool empty = version == 0 && n_tables == 0;
  if (empty && options.mode == OpenMode::read_only) return no_cache();
  if (!empty && application != kApplicationId) {
    SATCHEL_TRY_ASSIGN(const bool is_ours, has_our_tables(db));
    if (!is_ours) return somebody_elses(options.path);
  }
  const bool goes_on = version == newest_version(kv_migrations()) ||
                       (version == kOldestToMigrate && options.mode == OpenMode::read_write);
  if (!empty && (!goes_on || application != kApplicationId)) {
    const auto owner = owning_library(db);
    if (owner.ok() && !*owner) return not_begun_whole();
    return discarded("Another version of Satchel wrote the saved caches.");
  }
  if (options.mode == OpenMode::read_write) SATCHEL_TRY(db.use_journal());
  if (options.mode == OpenMode::read_write) SATCHEL_TRY(migrate(db, kv_migrations()));
  if (empty) {
    SATCHEL_TRY_ASSIGN(Query insert,
                       db.prepare("INSERT INTO meta(key, value) VALUES('library_id', ?1)"));
    return insert.bind(1, options.library_id).run();
  }
  return {};
}

Result<Connection> open_and_check(const KvOptions& options, Access access) {
  SATCHEL_TRY_ASSIGN(Connection opened, Connection::open({options.path, access, Content::cache,
                                                          options.vfs, options.key}));
  SATCHEL_TRY(check_or_make(opened, options));
  return opened;
}

// SQLite's words where it cannot make its side files.
bool lacks_place(const Error& error) {
  return error.code == "READ_ONLY" || error.code == "STORAGE";
}

// Where the caches of a library wait while another one uses the folder.
constexpr std::string_view kAside = "kvcache-of-";
fs::path aside(const fs::path& path, const std::string& library_id) {
  return path.parent_path() / (std::string(kAside) + library_id + ".db");
}

// An id becomes part of a file's name; one of another form is not ours.
bool can_name_a_file(const std::string& id) {
  return !id.empty() && id.size() <= 64 && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
  });
}

constexpr const char* kNewLibrary =
    "library.db was missing, so Satchel created an empty one. To restore your earlier chats, close "
    "Satchel and put their library.db in its place. ";
}  // namespace

void delete_put_aside(const fs::path& folder, std::int64_t before_ms) {
  delete_older(folder, kAside, before_ms);
}

// Corrupt: the file is another library's, or nobody's.
Result<void> KvStore::State::check_owner(Connection& db) {
  SATCHEL_TRY_ASSIGN(const std::optional<std::string> owner, owning_library(db));
  if (!owner) return not_begun_whole();
  if (*owner == options.library_id) return {};
  if (can_name_a_file(*owner)) other_library = *owner;
  return discarded("The saved caches belong to another library.");
}

Result<void> KvStore::State::connect() {
  if (options.mode == OpenMode::read_write) {
    std::error_code none_waits;
    if (is_empty_or_missing(options.path) && can_name_a_file(options.library_id))
      fs::rename(aside(options.path, options.library_id), options.path, none_waits);
    SATCHEL_TRY(make_private_file(options.path));
  }
  const Access access =
      options.mode == OpenMode::read_write ? Access::read_write : Access::read_only;
  auto opened = open_and_check(options, access);
  // As the library does where SQLite finds no place for its side files, and there is no log.
  if (!opened.ok() && access == Access::read_only && lacks_place(opened.error()) &&
      is_empty_or_missing(options.path.string() + "-wal")) {
    // The first failure says more than that of the second try.
    if (auto alone = open_and_check(options, Access::read_only_media); alone.ok())
      opened = std::move(alone);
  }
  // The file could be opened to write a moment ago: that SQLite must not is said by its bytes.
  if (!opened.ok() && access == Access::read_write && opened.error().code == "READ_ONLY")
    return discarded("The saved caches are damaged.");
  if (!opened.ok()) return std::move(opened).error();
  SATCHEL_TRY(check_owner(opened.value()));
  connection.emplace(std::move(opened).value());
  return {};
}

void KvStore::State::discard(const Error& why) {
  connection.reset();
  if (options.mode == OpenMode::read_only) return;
  std::error_code ignored;
  for (const char* suffix : {"", "-wal", "-shm"})
    std::filesystem::remove(options.path.string() + suffix, ignored);
  notice =
      options.is_new_library
          ? kNewLibrary + why.message + " They were deleted."
          : why.message +
                " They were deleted. No message is lost; each chat is processed again when opened.";
  if (options.log) options.log(LogLevel::warning, "kvcache", "discarded code=" + why.code);
}

Result<void> KvStore::State::put_aside() {
  const fs::path waiting = aside(options.path, std::exchange(other_library, {}));
  const Error refused = {ErrorKind::storage, "STORAGE",
                         "The saved caches in \"" + options.path.string() +
                             "\" belong to another library and could not be moved aside. They are "
                             "kept. Choose another folder, or move the file away."};
  std::error_code error;
  // A log that closing did not empty is half of the file.
  if (!is_empty_or_missing(options.path.string() + "-wal")) return refused;
  for (const char* suffix : {"-wal", "-shm"}) fs::remove(options.path.string() + suffix, error);
  fs::rename(options.path, waiting, error);
  if (error) return refused;
  // It waits for a month from now on, however long ago it was written.
  fs::last_write_time(waiting, fs::file_time_type::clock::now(), error);
  notice = std::string(options.is_new_library ? kNewLibrary : "") +
           "The saved caches belong to another library. They were moved to \"" + waiting.string() +
           "\" and are used again when you open that library here.";
  if (options.log) options.log(LogLevel::warning, "kvcache", "put aside");
  return {};
}

Result<Connection*> KvStore::State::reader() {
  if (connection.has_value() && connection->disk_failed()) connection.reset();
  if (!connection.has_value()) {
    auto made = connect();
    if (!made.ok() && made.error().kind == ErrorKind::corrupt &&
        options.mode == OpenMode::read_write) {
      if (other_library.empty()) {
        discard(made.error());
      } else {
        SATCHEL_TRY(put_aside());
      }
      made = connect();
    }
    if (!made.ok()) return made.error();
  }
  return &*connection;
}

Result<Connection*> KvStore::State::writer() {
  if (options.mode == OpenMode::read_only) return opened_to_read();
  return reader();
}

KvStore::KvStore(std::unique_ptr<State> state) : state_(std::move(state)) {}
KvStore::~KvStore() = default;

const std::string& KvStore::notice() const {
  return state_->notice;
}

const kvcache::StreamCoder* KvStore::coder() const {
  static const ZstdCoder kCoder;
  return &kCoder;
}

Result<void> KvStore::allow_writing() {
  if (state_->options.mode == OpenMode::read_write) return {};
  state_->options.mode = OpenMode::read_write;
  state_->connection.reset();
  const auto opened = state_->reader();
  if (opened.ok()) return {};
  state_->options.mode = OpenMode::read_only;
  return opened.error();
}

Result<void> KvStore::copy_under_key(const fs::path& file, const std::string& key) {
  return state_->writing([&](Connection& db) { return db.copy_under_key(file, key); });
}

Result<std::unique_ptr<KvStore>> KvStore::open(KvOptions options) {
  std::error_code ignored;
  if (options.mode == OpenMode::read_only && !std::filesystem::exists(options.path, ignored))
    return no_cache();
  auto state = std::make_unique<State>();
  state->options = std::move(options);
  SATCHEL_TRY(state->reader());
  return std::unique_ptr<KvStore>(new KvStore(std::move(state)));
}

Result<std::int64_t> cache_id(Connection& db, const CacheKey& key) {
  SATCHEL_TRY_ASSIGN(Query query, db.prepare("SELECT id FROM cache WHERE key = ?1"));
  SATCHEL_TRY_ASSIGN(const bool row, query.bind(1, key.name).step());
  return row ? query.integer_at(0) : std::int64_t{0};
}

Result<std::optional<kvcache::SavedManifest>> KvStore::newest_manifest(const CacheKey& key) {
  using Found = std::optional<kvcache::SavedManifest>;
  return state_->reading([&](Connection& db) -> Result<Found> {
    SATCHEL_TRY_ASSIGN(state_->last_read, cache_id(db, key));
    SATCHEL_TRY_ASSIGN(Query query,
                       db.prepare("SELECT generation, manifest, note FROM cache WHERE id = ?1 "
                                  "AND generation IS NOT NULL"));
    SATCHEL_TRY_ASSIGN(const bool row, query.bind(1, state_->last_read).step());
    if (!row) return Found();
    kvcache::SavedManifest manifest{static_cast<std::uint64_t>(query.integer_at(0)),
                                    query.blob_at(1), query.text_at(2)};
    SATCHEL_TRY(query.run());
    // Which cache was used when is a matter of quota only: a disk that refuses it may be read.
    if (state_->options.mode == OpenMode::read_write) (void)touch(db, key);
    return Found(std::move(manifest));
  });
}

Result<std::vector<std::byte>> KvStore::record(const CacheKey& key, RecordId id) {
  std::vector<std::byte> bytes;
  SATCHEL_TRY(record_into(key, id, bytes));
  return bytes;
}

Result<void> KvStore::record_into(const CacheKey& key, RecordId id, std::vector<std::byte>& into) {
  return state_->reading([&](Connection& db) -> Result<void> {
    std::int64_t row_id = 0;
    {
      SATCHEL_TRY_ASSIGN(Query query,
                         db.prepare("SELECT block_bytes.id FROM cache JOIN block ON block.cache = "
                                    "cache.id JOIN block_bytes ON block_bytes.id = bytes_id "
                                    "WHERE cache.key = ?1 AND block.id = ?2"));
      query.bind(1, key.name).bind(2, static_cast<std::int64_t>(id));
      SATCHEL_TRY_ASSIGN(const bool row, query.step());
      if (!row) return record_not_found(id);
      row_id = query.integer_at(0);
    }
    return db.read_blob({"block_bytes", "bytes", row_id}, kvcache::kRecordBytesMax, into);
  });
}

Result<std::vector<SavedCache>> KvStore::list() {
  return state_->reading([&](Connection& db) -> Result<std::vector<SavedCache>> {
    SATCHEL_TRY_ASSIGN(
        Query query,
        db.prepare("SELECT key, chat, model, recipe, n_tokens, (SELECT coalesce(sum(size_bytes), "
                   "0) FROM block WHERE block.cache = cache.id), note FROM cache ORDER BY id"));
    return query.all([](const Query& row) {
      SavedCache cache{.key = CacheKey::named(row.text_at(0)),
                       .model = row.text_at(2),
                       .recipe = row.text_at(3),
                       .n_tokens = static_cast<std::uint64_t>(row.integer_at(4)),
                       .record_bytes = static_cast<std::uint64_t>(row.integer_at(5)),
                       .note = row.text_at(6)};
      if (!row.null_at(1)) cache.key.owner = row.integer_at(1);
      return cache;
    });
  });
}

}  // namespace satchel::storage
