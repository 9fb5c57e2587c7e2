#include "storage/sqlite/connection.h"

#include <memory>
#include <string>
#include <utility>

#include "kernels/base/released_by.h"
#include "storage/folder/network_disk.h"
#include "storage/sqlite/handle.h"

namespace satchel::storage {
namespace {

constexpr int kBusyMs = 5000;            // chosen, not measured
constexpr int kRowBytesMax = 128 << 20;  // a message of 16 MiB, one token a byte, and some air

// A path as SQLite's URI wants it: only what cannot mislead its parser stays as it is.
std::string uri_of(const std::filesystem::path& path) {
  static constexpr std::string_view kHex = "0123456789ABCDEF", kPlain = "/-_.~";
  std::string uri = "file:";
  for (const char c : std::filesystem::absolute(path).string()) {
    const auto byte = static_cast<unsigned char>(c);
    const bool letter = (byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') ||
                        (byte >= 'A' && byte <= 'Z');
    if (letter || kPlain.find(c) != std::string_view::npos)
      uri += c;
    else
      (uri += '%').append({kHex[byte >> 4], kHex[byte & 15u]});
  }
  return uri;
}

int flags_of(Access access) {
  constexpr int kCommon = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI | SQLITE_OPEN_EXRESCODE;
  return kCommon | (access == Access::read_write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                                                 : SQLITE_OPEN_READONLY);
}

// A stranger's file may carry a schema of its own: it must not run functions or write itself.
void harden(sqlite3* db, Access access) {
  sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
  sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
  if (access != Access::read_write)  // the writing process alone checkpoints
    sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  sqlite3_limit(db, SQLITE_LIMIT_LENGTH, kRowBytesMax);
  sqlite3_busy_timeout(db, kBusyMs);
}

// A file system of SQLite's that knows no shared memory says so by its table of functions.
bool shares_memory(sqlite3* db, const std::filesystem::path& path) {
  sqlite3_file* file = nullptr;
  (void)sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
  const sqlite3_io_methods* methods = file == nullptr ? nullptr : file->pMethods;
  const bool has_functions =
      methods == nullptr || (methods->iVersion >= 2 && methods->xShmMap != nullptr);
  return has_functions && !network_disk(path).has_value();
}
}  // namespace

Connection::Connection(std::unique_ptr<Handle> handle) : handle_(std::move(handle)) {}
Connection::Connection(Connection&&) noexcept = default;
Connection& Connection::operator=(Connection&&) noexcept = default;
Connection::~Connection() = default;

Result<Connection> Connection::open(const ConnectionOptions& options) {
  auto handle = std::make_unique<Handle>();
  handle->path = options.path.string();
  handle->content = options.content;
  handle->key = options.key;
  std::string uri = options.path.empty() ? ":memory:" : uri_of(options.path);
  if (options.access == Access::read_only_media) uri += "?immutable=1";
  const int code = sqlite3_open_v2(uri.c_str(), &handle->db, flags_of(options.access),
                                   options.vfs.empty() ? nullptr : options.vfs.c_str());
  if (code != SQLITE_OK) return sqlite_error(*handle, code);
  SATCHEL_TRY(give_key(*handle));
  harden(handle->db, options.access);
  if (options.content == Content::library) set_checkpoints(*handle, false);
  Connection connection(std::move(handle));
  SATCHEL_TRY(
      connection.exec("PRAGMA foreign_keys=ON; PRAGMA cell_size_check=ON;"
                      "PRAGMA mmap_size=0; PRAGMA secure_delete=ON;"
                      "PRAGMA temp_store=MEMORY;"));
  if (options.access == Access::read_write) {
    // A log that was left here is read without shared memory by one that is alone.
    Handle& opened = *connection.handle_;
    opened.has_shared_memory = shares_memory(opened.db, options.path);
    if (!opened.has_shared_memory) SATCHEL_TRY(connection.exec("PRAGMA locking_mode=EXCLUSIVE"));
    // Records of up to 8 MiB want few, large pages; a message is a few hundred bytes.
    if (options.content == Content::cache) {
      if (options.key.empty()) SATCHEL_TRY(connection.exec("PRAGMA page_size=32768;"));
      SATCHEL_TRY(connection.exec("PRAGMA auto_vacuum=INCREMENTAL;"));
    }
    SATCHEL_TRY(connection.exec("PRAGMA journal_size_limit=16777216;"));
  }
  return connection;
}

Result<void> Connection::exec(const char* sql) {
  const int code = sqlite3_exec(handle_->db, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return sqlite_error(*handle_, code);
  return {};
}

Result<Query> Connection::prepare(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v3(handle_->db, sql, -1, 0, &statement, nullptr);
  if (code != SQLITE_OK) return sqlite_error(*handle_, code);
  return Query(*handle_, statement);
}

Result<std::int64_t> Connection::integer(const char* sql) {
  SATCHEL_TRY_ASSIGN(Query query, prepare(sql));
  return query.integer();
}

Result<void> Connection::read_blob(const BlobPlace& place, std::size_t bytes_max,
                                   std::vector<std::byte>& into) {
  sqlite3_blob* opened = nullptr;
  const int code =
      sqlite3_blob_open(handle_->db, "main", place.table, place.column, place.row, 0, &opened);
  const std::unique_ptr<sqlite3_blob, ReleasedBy<&sqlite3_blob_close>> blob(opened);
  if (code != SQLITE_OK) return sqlite_error(*handle_, code);
  const int n = sqlite3_blob_bytes(opened);
  // SQLite's own limit of a length does not hold here.
  if (static_cast<std::size_t>(n) > bytes_max)
    return damaged_error(*handle_, "a value of " + std::to_string(n) + " bytes");
  into.resize(static_cast<std::size_t>(n));
  const int read = sqlite3_blob_read(opened, into.data(), n, 0);
  if (read != SQLITE_OK) return sqlite_error(*handle_, read);
  return {};
}

Result<Transaction> Connection::begin(Sync sync) {
  // A rollback journal that is synced less may leave a file that is half of each.
  const bool full = sync == Sync::full || !handle_->has_shared_memory;
  if (handle_->full_sync != full) {  // may change between transactions only
    SATCHEL_TRY(exec(full ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL"));
    handle_->full_sync = full;
  }
  SATCHEL_TRY(exec("BEGIN IMMEDIATE"));
  return Transaction(*handle_);
}

Result<void> Connection::use_journal() {
  // Truncated and synced, a journal's end is on the disk; deleted, only when its folder is.
  const std::string mode = handle_->has_shared_memory ? "wal" : "truncate";
  {
    SATCHEL_TRY_ASSIGN(Query query, prepare(("PRAGMA journal_mode=" + mode).c_str()));
    SATCHEL_TRY_ASSIGN(const bool row, query.step());
    if (sqlite3_db_readonly(handle_->db, "main") == 1)
      return sqlite_error(*handle_, SQLITE_READONLY);  // SQLite opens it all the same, to be read
    if (!row || query.text_at(0) != mode)
      return Error{ErrorKind::storage, "STORAGE",
                   "\"" + handle_->path +
                       "\" is on a file system that cannot keep it safe (a network disk?). Choose "
                       "a folder on a local disk."};
  }
  if (handle_->has_shared_memory) return {};
  // Between changes others may read. The lock goes with the next access.
  SATCHEL_TRY(exec("PRAGMA locking_mode=NORMAL"));
  return exec("SELECT count(*) FROM sqlite_schema");
}

bool Connection::has_shared_memory() const {
  return handle_->has_shared_memory;
}

void Connection::allow_checkpoints() {
  if (!handle_->disk_failed && !handle_->found_damage) set_checkpoints(*handle_, true);
}

Result<void> Connection::checkpoint() {
  if (handle_->found_damage) return {};
  SATCHEL_TRY_ASSIGN(Query query, prepare("PRAGMA wal_checkpoint(PASSIVE)"));
  return query.run();
}

Result<bool> Connection::empty_wal() {
  if (handle_->found_damage) return false;
  SATCHEL_TRY_ASSIGN(const std::int64_t busy, integer("PRAGMA wal_checkpoint(TRUNCATE)"));
  return busy == 0;
}

Result<void> Connection::quick_check() {
  SATCHEL_TRY_ASSIGN(Query query, prepare("PRAGMA quick_check(1)"));
  SATCHEL_TRY_ASSIGN(const bool row, query.step());
  const std::string finding = row ? query.text_at(0) : "the check returned nothing";
  if (finding != "ok") return damaged_error(*handle_, finding);
  return {};
}

const std::string& Connection::key() const {
  return handle_->key;
}

bool Connection::disk_failed() const {
  return handle_->disk_failed;
}

bool Connection::found_damage() const {
  return handle_->found_damage;
}

Transaction::~Transaction() {
  // SQLite has rolled back by itself after some errors; then there is nothing to end.
  if (handle_ != nullptr && sqlite3_get_autocommit(handle_->db) == 0)
    (void)sqlite3_exec(handle_->db, "ROLLBACK", nullptr, nullptr, nullptr);
}

Result<void> Transaction::commit() {
  SATCHEL_ASSERT(handle_ != nullptr);
  const int code = sqlite3_exec(handle_->db, "COMMIT", nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return sqlite_error(*handle_, code);
  handle_ = nullptr;
  return {};
}

}  // namespace satchel::storage
