#include <system_error>

#include "storage/folder/backups.h"
#include "storage/folder/folder.h"
#include "storage/library/state.h"
#include "storage/library/use_days.h"
#include "storage/migrations/migrations.h"

namespace satchel::storage {
namespace {
namespace fs = std::filesystem;

constexpr std::int64_t kApplicationId = 0x534c4942;  // library-001.sql

Error no_library(const fs::path& path) {
  return {ErrorKind::not_found, "NO_LIBRARY",
          "There is no library at \"" + path.string() + "\" yet. The first chat creates it."};
}

Error newer_schema(std::int64_t version) {
  return {ErrorKind::storage, "SCHEMA_NEWER",
          "A newer Satchel wrote the library (schema " + std::to_string(version) +
              "); this version supports schema " +
              std::to_string(newest_version(library_migrations())) +
              ". It is open read-only. Update Satchel to save again."};
}

Error opened_to_read() {
  return {ErrorKind::storage, "READ_ONLY", "The library is open read-only. Nothing was changed."};
}

Error went_missing(const fs::path& path) {
  return {ErrorKind::storage, "STORAGE",
          "\"" + path.string() +
              "\" was moved or deleted while Satchel had it open. Nothing was saved. Put it back, "
              "or start Satchel again."};
}

Error not_a_library(const fs::path& path) {
  return {ErrorKind::corrupt, "LIBRARY_DAMAGED",
          "\"" + path.string() +
              "\" is not a Satchel library, or is damaged. Nothing was changed. " +
              advice_for_damaged_library(path)};
}

// Where a new library is made.
fs::path begun_at(const fs::path& path) {
  return path.string() + "-new";
}

// What a full disk or a kill left of one.
void delete_begun(const fs::path& path) {
  std::error_code ignored;
  for (const char* suffix : {"", "-journal"}) fs::remove(begun_at(path).string() + suffix, ignored);
}

Result<void> make_library(const fs::path& path, const LibraryOptions& options) {
  SATCHEL_TRY(make_private_file(path));
  SATCHEL_TRY_ASSIGN(Connection made, Connection::open({path, Access::read_write, Content::library,
                                                        options.vfs, options.key}));
  return migrate(made, library_migrations());
}

// The schema's version; 0: an empty file. An error if the file is someone else's.
Result<std::int64_t> version_of(Connection& connection, const fs::path& path) {
  std::error_code unknown;
  const auto size = fs::file_size(path, unknown);
  // SQLite takes what is shorter than its smallest page for a new file, and would write over it.
  if (!unknown && size > 0 && size < 512) return not_a_library(path);
  SATCHEL_TRY_ASSIGN(const std::int64_t application, connection.integer("PRAGMA application_id"));
  SATCHEL_TRY_ASSIGN(const std::int64_t version, connection.integer("PRAGMA user_version"));
  SATCHEL_TRY_ASSIGN(const std::int64_t n_tables,
                     connection.integer("SELECT count(*) FROM sqlite_schema"));
  const bool empty = n_tables == 0 && version == 0;
  if (!empty && (application != kApplicationId || version < 1)) return not_a_library(path);
  return version;
}

Result<std::string> id_of(Connection& connection) {
  SATCHEL_TRY_ASSIGN(Query id,
                     connection.prepare("SELECT value FROM meta WHERE key = 'library_id'"));
  SATCHEL_TRY_ASSIGN(const bool found, id.step());
  return found ? id.text_at(0) : std::string();
}

// Row and parts of one message, into the row.
Result<void> fold_parts(Connection& connection, std::int64_t message) {
  std::vector<std::byte> tokens;
  std::string text, role;
  std::optional<std::int64_t> parent;
  std::int64_t chat = 0, seq = 0, tokenizer = 0;
  {
    SATCHEL_TRY_ASSIGN(Query row,
                       connection.prepare("SELECT chat, seq, role, tokens, text, parent, "
                                          "tokenizer FROM message WHERE id = ?1"));
    SATCHEL_TRY_ASSIGN(const bool found, row.bind(1, message).step());
    if (!found) return {};
    chat = row.integer_at(0);
    seq = row.integer_at(1);
    role = row.text_at(2);
    tokens = row.blob_at(3);
    text = row.text_at(4);
    if (!row.null_at(5)) parent = row.integer_at(5);
    tokenizer = row.integer_at(6);
    SATCHEL_TRY_ASSIGN(Query parts,
                       connection.prepare("SELECT tokens, text FROM message_part WHERE message = "
                                          "?1 ORDER BY seq"));
    parts.bind(1, message);
    for (;;) {
      SATCHEL_TRY_ASSIGN(const bool part, parts.step());
      if (!part) break;
      const auto more = parts.blob_at(0);
      tokens.insert(tokens.end(), more.begin(), more.end());
      text += parts.text_at(1);
    }
  }
  return update_message(connection, message,
                        {.chat = chat,
                         .seq = seq,
                         .role = role,
                         .state = name_of(runtime::MessageState::interrupted),
                         .text = text,
                         .tokens = tokens,
                         .parent = parent,
                         .tokenizer = tokenizer});
}

// Messages that were written, but never acknowledged as saved.
Result<void> take_back(Connection& connection, std::int64_t last_acknowledged) {
  SATCHEL_TRY_ASSIGN(Transaction change, connection.begin(Sync::full));
  for (const char* sql : {"UPDATE chat SET last_seq = (SELECT count(*) FROM message m WHERE m.chat "
                          "= chat.id AND m.id <= ?1), n_live = (SELECT count(*) FROM message m "
                          "WHERE m.chat = chat.id AND m.id <= ?1 AND m.live = 1) WHERE id IN "
                          "(SELECT chat FROM message WHERE id > ?1)",
                          "DELETE FROM message WHERE id > ?1"}) {
    SATCHEL_TRY_ASSIGN(Query query, connection.prepare(sql));
    SATCHEL_TRY(query.bind(1, last_acknowledged).run());
  }
  return change.commit();
}

// A file of schema 1 that cannot be migrated, since the disk is read-only, is read through views
// that have what schema 2 added.
constexpr const char* kSchema1AsSchema2 =
    "CREATE TEMP VIEW message AS SELECT *, 'text' AS kind, '' AS title, (SELECT max(p.id) FROM "
    "main.message p WHERE p.chat = m.chat AND p.seq = m.seq - 1) AS parent, NULL AS tokenizer, 1 "
    "AS live, NULL AS checksum_2 FROM main.message m;"
    "CREATE TEMP VIEW chat AS SELECT *, last_seq AS n_live, model_fingerprint AS model_1 FROM "
    "main.chat;";

// Of schema 2: it has no kept documents.
constexpr const char* kSchema2AsSchema3 =
    "CREATE TEMP VIEW document AS SELECT 0 AS id, '' AS hash, '' AS title, '' AS text, 0 AS "
    "created_ms, 0 AS used_ms WHERE 0;";

// Whether a library that could not be written can be later, without another start.
bool may_pass(const Error& why) {
  return why.kind != ErrorKind::corrupt && why.code != "SCHEMA_NEWER";
}

Result<void> restore_cut(Connection& connection, const Cut& cut) {
  SATCHEL_TRY_ASSIGN(Transaction change, connection.begin(Sync::full));
  SATCHEL_TRY(cut_to(connection, cut));
  return change.commit();
}
}  // namespace

Library::Library(std::unique_ptr<State> state) : state_(std::move(state)) {}

Library::~Library() {
  if (const auto flushed = flush(); !flushed.ok() && state_->options.log)
    state_->options.log(LogLevel::error, "library",
                        "last part of a streaming answer not saved code=" + flushed.error().code);
}

const LibraryReport& Library::report() const {
  return state_->report;
}
bool Library::found_damage() const {
  const auto& why = state_->report.read_only;
  return (why && why->kind == ErrorKind::corrupt) ||
         (state_->connection && state_->connection->found_damage());
}
bool Library::owes_check() const {
  return state_->options.check;
}
const std::string& Library::library_id() const {
  return state_->library_id;
}

Result<std::unique_ptr<Library>> Library::open(LibraryOptions options) {
  SATCHEL_ASSERT(options.clock != nullptr);
  auto state = std::make_unique<State>();
  state->options = std::move(options);
  SATCHEL_TRY(state->connect());
  return std::unique_ptr<Library>(new Library(std::move(state)));
}

Result<void> Library::State::connect() {
  if (options.mode == OpenMode::read_write) {
    const auto writing = open_for_writing();
    if (writing.ok()) return {};
    report.read_only = writing.error();
    if (options.log)
      options.log(LogLevel::warning, "library", "opened read-only code=" + report.read_only->code);
  } else {
    report.read_only = options.read_only_reason.value_or(opened_to_read());
  }
  connection.reset();
  const auto reading = connect_for_reading();
  // The first failure says more than that of the second, lesser try.
  if (!reading.ok() && options.mode == OpenMode::read_write) return *report.read_only;
  return reading;
}

Result<void> Library::State::open_for_writing() {
  delete_begun(options.path);
  std::error_code error;
  if (fs::symlink_status(options.path, error).type() == fs::file_type::not_found)
    SATCHEL_TRY(begin_library());
  SATCHEL_TRY(make_private_file(options.path));
  return connect_for_writing();
}

// A new library comes to its place when its schema is on disk: an empty file there, as a full disk
// or a kill would leave it, would be taken for a library that lost its bytes.
Result<void> Library::State::begin_library() const {
  if (const auto left = log_left_by(options.path)) return lost_library(options.path, *left);
  const fs::path begun = begun_at(options.path);
  const Result<void> made = make_library(begun, options);
  const Result<bool> named =
      made.ok() ? rename_to_free(begun, options.path) : Result<bool>(made.error());
  // Where somebody put a library there meanwhile, it is theirs that is opened.
  if (!named.ok() || !named.value()) delete_begun(options.path);
  if (!named.ok()) return named.error();
  return {};
}

Result<void> Library::State::connect_for_writing() {
  SATCHEL_TRY_ASSIGN(Connection opened,
                     Connection::open({options.path, Access::read_write, Content::library,
                                       options.vfs, options.key}));
  connection.emplace(std::move(opened));
  SATCHEL_TRY_ASSIGN(const std::int64_t version, version_of(*connection, options.path));
  if (version > newest_version(library_migrations())) return newer_schema(version);
  // Before anything is written. A new file has nothing to check.
  if (options.check && version > 0) SATCHEL_TRY(connection->quick_check());
  options.check = false;
  connection->allow_checkpoints();
  SATCHEL_TRY(connection->use_journal());
  report.has_shared_memory = connection->has_shared_memory();
  return prepare_for_writing(version);
}

Result<void> Library::State::prepare_for_writing(std::int64_t version) {
  if (version > 0 && version < newest_version(library_migrations())) {
    report.backup = backup_before(options.path, version + 1);
    SATCHEL_TRY(back_up(*connection, report.backup));
  }
  SATCHEL_TRY(migrate(*connection, library_migrations()));
  SATCHEL_TRY(interrupt_streaming());
  (void)note_use();  // a day that is not counted keeps what is deleted a day longer
  SATCHEL_TRY_ASSIGN(last_message, connection->integer("SELECT coalesce(max(id), 0) FROM message"));
  SATCHEL_TRY_ASSIGN(library_id, id_of(*connection));
  return {};
}

Result<void> Library::State::connect_for_reading() {
  SATCHEL_TRY(check_missing_or_readable(options.path));
  std::error_code ignored;
  if (!fs::exists(options.path, ignored)) return no_library(options.path);
  Result<std::int64_t> version = std::int64_t{0};
  for (const Access access : {Access::read_only, Access::read_only_media}) {
    connection.reset();
    SATCHEL_TRY_ASSIGN(Connection opened, Connection::open({options.path, access, Content::library,
                                                            options.vfs, options.key}));
    connection.emplace(std::move(opened));
    version = version_of(*connection, options.path);
    // Without a place for its side files SQLite cannot begin. If there is no log to miss, the file
    // alone is the whole truth.
    if (version.ok() || !is_empty_or_missing(options.path.string() + "-wal")) break;
  }
  if (!version.ok()) return version.error();
  if (version.value() == 0) return no_library(options.path);
  if (version.value() > newest_version(library_migrations()))
    report.read_only = newer_schema(version.value());
  if (version.value() == 1) SATCHEL_TRY(connection->exec(kSchema1AsSchema2));
  if (version.value() < 3) SATCHEL_TRY(connection->exec(kSchema2AsSchema3));
  SATCHEL_TRY_ASSIGN(library_id, id_of(*connection));
  return {};
}

Result<void> Library::copy_to(const fs::path& file) {
  SATCHEL_TRY_ASSIGN(Connection * db, state_->reader());
  const Result<void> copied = back_up(*db, file);
  std::error_code ignored;
  if (!copied.ok()) fs::remove(file, ignored);
  return copied;
}

Result<void> Library::copy_under_key(const fs::path& file, const std::string& key) {
  SATCHEL_TRY_ASSIGN(Connection * db, state_->writer());
  return db->copy_under_key(file, key);
}

Result<Connection*> Library::State::reader() {
  if (!connection.has_value() || connection->disk_failed()) SATCHEL_TRY(reconnect());
  return &*connection;
}

Result<Connection*> Library::State::writer() {
  if (report.read_only.has_value()) SATCHEL_TRY(try_writing_again());
  return reader();
}

// What hindered the opening may have passed: a disk has space again, another program has ended.
Result<void> Library::State::try_writing_again() {
  if (options.mode == OpenMode::read_only || !may_pass(*report.read_only)) return *report.read_only;
  SATCHEL_TRY(check_missing_or_readable(options.path));
  // A library that was there is not begun anew: its words may come back.
  std::error_code unknown;
  if (!fs::exists(options.path, unknown)) return went_missing(options.path);
  connection.reset();
  const auto writing = open_for_writing();
  if (writing.ok()) {
    report.read_only.reset();
    return {};
  }
  report.read_only = writing.error();
  connection.reset();
  (void)connect_for_reading();  // else the next call that reads tries again
  return writing;
}

// After a disk failure the page cache is not to be trusted. What was not acknowledged as saved is
// taken back, so that saving it again does not store it twice.
Result<void> Library::State::reconnect() {
  connection.reset();
  if (report.read_only.has_value()) return connect_for_reading();
  const std::int64_t acknowledged = last_message;
  options.check = true;
  auto again = connect_for_writing();
  if (again.ok() && last_message > acknowledged) again = take_back(*connection, acknowledged);
  if (again.ok() && open_cut.has_value()) again = restore_cut(*connection, *open_cut);
  if (again.ok()) open_cut.reset();
  last_message = acknowledged;
  if (again.ok()) return {};
  connection.reset();
  if (again.error().kind != ErrorKind::corrupt) return again;  // the next call tries again
  report.read_only = again.error();
  return connect_for_reading();
}

Result<void> Library::State::note_use() {
  SATCHEL_TRY_ASSIGN(Transaction change, connection->begin(Sync::normal));
  SATCHEL_TRY(count_use_day(*connection, options.clock->wall_ms()));
  return change.commit();
}

// Answers that streamed when their process died keep what they hold.
Result<void> Library::State::interrupt_streaming() {
  std::vector<std::int64_t> left;
  {
    SATCHEL_TRY_ASSIGN(Query rows, connection->prepare("SELECT id FROM message WHERE state = "
                                                       "'streaming' ORDER BY id"));
    SATCHEL_TRY_ASSIGN(left, rows.all([](const Query& row) { return row.integer_at(0); }));
  }
  std::erase_if(left, [this](std::int64_t message) { return streams.contains(message); });
  if (left.empty()) return {};
  SATCHEL_TRY_ASSIGN(Transaction change, connection->begin(Sync::full));
  for (const std::int64_t message : left) SATCHEL_TRY(fold_parts(*connection, message));
  SATCHEL_TRY(change.commit());
  report.n_interrupted += left.size();
  return {};
}

}  // namespace satchel::storage
