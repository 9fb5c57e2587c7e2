// Databases of a store that somebody changed: by statements, as another program would, and page by
// page, as a disk does. What can be done with a store is then done with it.
//   input   1 byte: which file, and how it is opened (below); 2 bytes: size of the statements;
//           they; edits of 8 bytes
#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "kernels/base/assert.h"
#include "mutate.h"
#include "runtime/contract/cache_key.h"
#include "storage/library/state.h"
#include "storage/migrations/migrations.h"
#include "storage/store.h"
#include "support/temp_folder.h"
#include "target.h"
#include "two_texts.h"

namespace satchel::fuzz {
namespace {

using namespace storage;
using runtime::MessageKind;
using runtime::MessageState;
using runtime::Role;
using test::TempFolder;

// Bits of the first byte.
constexpr std::uint8_t kIsCache = 1, kIsOld = 2, kHasLog = 4, kIsUnclean = 8, kReadsOnly = 16,
                       kIsOpenedTwice = 32;
constexpr const char* kId = "0123456789abcdef0123456789abcdef";

class FarClock final : public Clock {
 public:
  explicit FarClock(std::int64_t days) : days_(days) {}
  std::int64_t wall_ms() const override { return 1'700'000'000'000 + days_ * 86'400'000; }
  double steady_ms() const override { return 0; }

 private:
  std::int64_t days_;
};

struct Files {
  std::string library, cache;
};
struct Bases {
  Files closed, open, logs;  // open: as they are beside their logs
  std::string old_library;   // of schema 1
};

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write_file(const std::filesystem::path& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(text.data(), static_cast<std::streamsize>(text.size()));
}

// Whatever they say; but no other file, and no end of work.
void run_statements(const std::filesystem::path& file, std::string_view statements) {
  if (statements.empty()) return;
  sqlite3* db = nullptr;
  if (sqlite3_open(file.c_str(), &db) == SQLITE_OK) {
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 100'000);
    sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_progress_handler(
        db, 20'000, [](void*) { return 1; }, nullptr);
    const std::string text(statements);
    for (const char* at = text.c_str(); *at != '\0';) {  // those behind one that fails, too
      const std::size_t n = std::min(std::strcspn(at, ";") + 1, std::strlen(at));
      (void)sqlite3_exec(db, std::string(at, n).c_str(), nullptr, nullptr, nullptr);
      at += n;
    }
  }
  (void)sqlite3_close(db);
}

Result<std::unique_ptr<Store>> open_at(const TempFolder& folder, const Clock& clock,
                                       OpenMode mode = OpenMode::read_write) {
  return Store::open({.data_dir = folder / "data",
                      .cache_dir = folder / "cache",
                      .clock = &clock,
                      .mode = mode,
                      .quota_bytes = 20'000});
}

Files files_in(const TempFolder& folder, const std::string& suffix) {
  return {read_file(folder / ("data/library.db" + suffix)),
          read_file(folder / ("cache/kvcache.db" + suffix))};
}

void fill(Store& store) {
  Library& library = store.library();
  const std::vector<std::int32_t> tokens = {1, 2, 3};
  const std::vector<std::byte> record(3000, std::byte{7});
  for (const char* name : {"notes", "gone", "plan"}) {
    const ChatId chat = library.create_chat({.name = name, .title = "Title", .setup = {}}).value();
    MessageId first{};
    for (const char* text : {"the first words", "an answer", "another answer"}) {
      const MessageId said =
          library
              .append(chat, {.role = first.value == 0 ? Role::user : Role::assistant,
                             .text = text,
                             .tokens = tokens,
                             .kind = first.value == 0 ? MessageKind::document : MessageKind::text,
                             .title = first.value == 0 ? "a.txt" : ""})
              .value();
      if (first.value == 0) first = said;
      if (std::string_view(text) == "an answer") (void)library.truncate(chat, first);
    }
    const MessageId streams =
        library.append(chat, {.state = MessageState::streaming, .text = "so", .tokens = tokens})
            .value();
    for (int i = 0; i < 40; ++i) (void)library.extend(streams, " far", tokens);
    (void)library.set_note(chat, "meter", "{}");
    const std::vector<kvcache::RecordId> live = {1};
    (void)store.kv()->put_record(runtime::cache_key(chat), 1, record);
    (void)store.kv()->commit(
        runtime::cache_key(chat),
        {.generation = 1, .manifest = std::span(record).first(100), .live = live});
  }
  (void)library.remove_chat({2});
  (void)library.flush();
}

std::string make_old_library() {
  const TempFolder folder(test::Place::memory);
  {
    auto db = Connection::open({folder / "library.db", Access::read_write, Content::library, {}});
    (void)migrate(*db, library_migrations().first(1));
    (void)db->exec(
        "INSERT INTO chat(name, title, model_fingerprint, model_path, recipe, budget_bytes, "
        "created_ms, used_ms, used_seq, last_seq) VALUES('old', 'Old', 'm', '/m', '{}', 0, 1, 1, "
        "1, 3)");
    constexpr std::pair<const char*, const char*> kSaid[] = {
        {"user", "a.txt\n\nthe first words"}, {"assistant", "Noted."}, {"user", "so far"}};
    for (std::int64_t seq = 1; const auto& [role, text] : kSaid) {
      const MessageRow row{
          .chat = 1, .seq = seq, .role = role, .state = "complete", .text = text, .tokens = {}};
      auto insert = db->prepare(
          "INSERT INTO message(chat, seq, role, state, created_ms, tokens, text, checksum) "
          "VALUES(1, ?1, ?2, 'complete', 1, x'', ?3, ?4)");
      insert->bind(1, seq++).bind(2, row.role).bind(3, row.text).bind(4, checksum_of(row));
      (void)insert->run();
    }
  }
  return read_file(folder / "library.db");
}

const Bases& bases() {
  static const Bases made = [] {
    const TempFolder folder(test::Place::memory);
    const FarClock clock(0);
    Bases all;
    open_at(folder, clock).value().reset();
    const std::string sets_id = "UPDATE meta SET value = '" + std::string(kId) + "'";
    for (const char* file : {"data/library.db", "cache/kvcache.db"})
      run_statements(folder / file, sets_id);
    {
      const auto store = open_at(folder, clock).value();
      fill(*store);
      all.open = files_in(folder, "");
      all.logs = files_in(folder, "-wal");
    }
    all.closed = files_in(folder, "");
    all.old_library = make_old_library();
    return all;
  }();
  return made;
}

struct Edit {
  std::uint8_t what, page;
  std::uint16_t at;
  std::uint32_t value;
};

void apply(const Edit& edit, std::string& file, std::size_t page_bytes) {
  const std::size_t n_pages = file.size() / page_bytes;
  if (n_pages == 0) return;
  const std::size_t page = edit.page % n_pages * page_bytes, at = page + edit.at % page_bytes;
  switch (edit.what % 8) {
    case 0:
      file.resize(at);
      return;
    case 1:  // a page lies where another one was
      return (void)std::memcpy(&file[page], &file[edit.value % n_pages * page_bytes], page_bytes);
    case 2:
      return (void)std::memset(&file[at], static_cast<int>(edit.value & 0xff),
                               page + page_bytes - at);
    default: {
      const std::size_t n = std::min<std::size_t>(1u << edit.what % 3, file.size() - at);
      std::memcpy(&file[at], &edit.value, n);
    }
  }
}

std::vector<Input> seeds() {
  std::vector<Input> all;
  for (const int how : {0, 1, 2, 4, 5, 8, 16, 18, 52})
    all.push_back(input_of(static_cast<std::uint8_t>(how), "", "\x03"));
  for (const char* said :
       {"UPDATE message SET parent = id + 1 WHERE id < 3", "UPDATE message SET parent = id;",
        "CREATE VIEW v AS SELECT * FROM chat; DROP INDEX chat_name; PRAGMA user_version = 9"})
    all.push_back(input_of(0, said, ""));
  return all;
}

std::string some_statement(Rng& rng) {
  constexpr const char* kTables[] = {"chat",  "message", "message_part", "setting",        "meta",
                                     "cache", "block",   "block_bytes",  "sqlite_sequence"};
  constexpr const char* kColumns[] = {
      "id",         "name",       "seq",        "parent",   "live",     "n_live",
      "last_seq",   "chat",       "role",       "state",    "kind",     "tokens",
      "text",       "checksum",   "checksum_2", "system",   "used_seq", "used_ms",
      "removed_ms", "generation", "manifest",   "bytes_id", "cache",    "live",
      "n_tokens",   "size_bytes", "value",      "key",      "title"};
  constexpr const char* kValues[] = {"NULL",
                                     "0",
                                     "1",
                                     "-1",
                                     "3",
                                     "id + 1",
                                     "id - 1",
                                     "9223372036854775807",
                                     "-9223372036854775807 - 1",
                                     "4294967296",
                                     "''",
                                     "'a'",
                                     "'\xff'",
                                     "x'00'",
                                     "1.5",
                                     "chat",
                                     "zeroblob(70000)",
                                     "'streaming'",
                                     "'document'",
                                     "rowid * 1000"};
  constexpr const char* kSchemaColumns[] = {"rootpage", "sql", "type", "name", "tbl_name"};
  const auto any = [&rng](const auto& list) {
    return std::string(list[below(rng, std::size(list))]);
  };
  const std::string table = any(kTables);
  const std::string where =
      below(rng, 2) == 0 ? ";" : " WHERE rowid = " + std::to_string(below(rng, 9)) + ";";
  switch (below(rng, 8)) {
    case 0:
      return "DELETE FROM " + table + where;
    case 1:
      return "INSERT OR REPLACE INTO " + table + " SELECT * FROM " + table + where;
    case 2:
      return "PRAGMA writable_schema = ON;UPDATE sqlite_schema SET " + any(kSchemaColumns) + " = " +
             any(kValues) + where;
    case 3:
      return "ALTER TABLE " + table + " RENAME TO t;CREATE VIEW " + table + " AS SELECT * FROM t;";
    case 4:
      return "CREATE TRIGGER g AFTER INSERT ON " + table + " BEGIN DELETE FROM " + any(kTables) +
             ";END;";
    default:
      return "UPDATE OR REPLACE " + table + " SET " + any(kColumns) + " = " + any(kValues) + where;
  }
}

Input generate(Rng& rng) {
  std::string statements, edits;
  for (std::size_t n = below(rng, 4); n > 0; --n) statements += some_statement(rng);
  for (std::size_t n = below(rng, statements.empty() ? 6 : 2); n > 0; --n) {
    const std::uint64_t edit = rng.next();
    edits.append(reinterpret_cast<const char*>(&edit), sizeof(edit));
  }
  return input_of(static_cast<std::uint8_t>(below(rng, 64)), statements, edits);
}

void use_chat(Library& library, ChatId id) {
  const auto messages = library.messages(id);
  (void)library.chat(id);
  (void)library.note(id, "meter");
  if (messages.ok() && !messages->empty()) {
    (void)library.truncate(id, messages->back().id);
    (void)library.truncate(id, messages->front().id);
  }
  const std::vector<std::int32_t> tokens = {4};
  const auto answer = library.append(
      id,
      {.role = Role::assistant, .state = MessageState::streaming, .text = "a", .tokens = tokens});
  if (answer.ok()) {
    (void)library.extend(*answer, "b", tokens);
    (void)library.flush();
    (void)library.messages(id);
    (void)library.finish(*answer, MessageState::complete, "c", tokens);
  }
  (void)library.set_note(id, "meter", "1");
  (void)library.retitle_chat(id, "plan");
  (void)library.remove_chat(id);
  (void)library.restore_chat(id);
}

void use_caches(KvStore& kv, const std::vector<std::byte>& record) {
  std::vector<std::byte> into;
  if (const auto caches = kv.list(); caches.ok())
    for (const SavedCache& cache : *caches) {
      (void)kv.newest_manifest(cache.key);
      (void)kv.record_into(cache.key, 1, into);
    }
  const kvcache::CacheKey key = runtime::cache_key({1});
  const std::vector<kvcache::RecordId> live = {1, 2};
  (void)kv.put_record(key, 2, record);
  (void)kv.commit(key, {.generation = 2, .manifest = record, .live = live});
  (void)kv.newest_manifest(key);
  (void)kv.drop(runtime::cache_key({3}));
}

void use(Store& store, const TempFolder& folder) {
  Library& library = store.library();
  (void)store.search({.words = "first wo"});
  const auto chats = library.chats();
  (void)library.chats(ChatFilter::removed);
  (void)library.find_chat("notes");
  if (chats.ok())
    for (std::size_t i = 0; i < std::min<std::size_t>(chats->size(), 2); ++i)
      use_chat(library, (*chats)[i].id);
  if (KvStore* kv = store.kv()) use_caches(*kv, std::vector<std::byte>(5000, std::byte{1}));
  (void)library.create_chat({.name = "notes", .title = "", .setup = {}}, NameTaken::number);
  (void)library.set_setting("key", "value");
  (void)store.search({.words = "a"});
  (void)store.back_up(folder.path() / "backup");
  (void)store.purge_expired();
  (void)store.delete_now({1});
  (void)store.notices();
}

// A store in `folder` whose one file is not as it was.
void put(const TempFolder& folder, std::uint8_t how, const TwoTexts& given) {
  const bool has_log = (how & kHasLog) != 0, is_cache = (how & kIsCache) != 0;
  Files files = has_log ? bases().open : bases().closed;
  Files logs = has_log ? bases().logs : Files();
  if ((how & kIsOld) != 0) files.library = bases().old_library, logs.library.clear();
  std::filesystem::create_directories(folder / "data");
  std::filesystem::create_directories(folder / "cache");
  const auto write = [&] {
    write_file(folder / "data/library.db", files.library);
    write_file(folder / "cache/kvcache.db", files.cache);
    if (!logs.library.empty()) write_file(folder / "data/library.db-wal", logs.library);
    if (!logs.cache.empty()) write_file(folder / "cache/kvcache.db-wal", logs.cache);
  };
  write();
  if (!given.first.empty()) {
    run_statements(folder / (is_cache ? "cache/kvcache.db" : "data/library.db"), given.first);
    files = files_in(folder, "");
    logs = files_in(folder, "-wal");
  }
  std::string& log = is_cache ? logs.cache : logs.library;
  std::string& file = is_cache ? files.cache : files.library;
  for (std::string_view rest = given.second; rest.size() >= sizeof(Edit);
       rest.remove_prefix(sizeof(Edit))) {
    Edit edit{};
    std::memcpy(&edit, rest.data(), sizeof(edit));
    apply(edit, has_log && (edit.what & 128) != 0 ? log : file, is_cache ? 32768 : 4096);
  }
  write();
  if ((how & kIsUnclean) != 0) write_file(folder / "data/library.lock", "4711\n");
}

}  // namespace

// Each opens and changes files: a hundredth of the speed of others.
const Target target{.name = "database", .seeds = seeds, .generate = generate, .n_together = 5};

}  // namespace satchel::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace satchel;
  using namespace satchel::fuzz;
  const auto given = two_texts_of(bytes, size);
  if (!given) return 0;
  const std::uint8_t how = given->how;
  const TempFolder folder(test::Place::memory);
  put(folder, how, *given);
  const bool is_to_read = (how & kReadsOnly) != 0;
  {
    const FarClock clock(40);
    const auto store =
        open_at(folder, clock, is_to_read ? OpenMode::read_only : OpenMode::read_write);
    if (store.ok()) use(**store, folder);
  }
  if ((how & kIsOpenedTwice) == 0) return 0;
  const FarClock clock(80);
  const auto again = open_at(folder, clock);
  if (again.ok()) use(**again, folder);
  return 0;
}
