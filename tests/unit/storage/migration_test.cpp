// Schemas: old files go on, newer ones are read, steps are whole or not at all.
#include <gmock/gmock.h>

#include "failing_vfs.h"
#include "fixtures.h"
#include "storage/migrations/migrations.h"
#include "storage/sqlite/connection.h"
#include "support/source_dir.h"

namespace satchel::storage {
namespace {
namespace fs = std::filesystem;

constexpr Migration kSteps[] = {
    {1, "CREATE TABLE word(text TEXT NOT NULL) STRICT; INSERT INTO word VALUES('kept');"},
    {2, "ALTER TABLE word ADD COLUMN n INTEGER NOT NULL DEFAULT 0; UPDATE word SET n = 5;"},
    {3, "CREATE TABLE other(word INTEGER); INSERT INTO other VALUES(1);"},
};

Connection open_file(const fs::path& path, std::string vfs = {}) {
  return must(Connection::open({path, Access::read_write, Content::library, std::move(vfs)}));
}
std::int64_t version(Connection& db) {
  return must(db.integer("PRAGMA user_version"));
}

// Sets a number in the file's head as another program would.
TEST(Migration, brings_an_old_file_to_the_newest_step_and_keeps_its_rows) {
  const TempFolder folder(Place::memory);
  Connection db = open_file(folder / "a.db");
  must(migrate(db, std::span(kSteps).first(1)));
  must(db.exec("INSERT INTO word VALUES('old')"));
  must(migrate(db, kSteps));
  EXPECT_EQ(version(db), 3);
  EXPECT_EQ(must(db.integer("SELECT count(*) FROM word WHERE n = 5")), 2);
  must(migrate(db, kSteps));  // nothing left to do
  EXPECT_EQ(must(db.integer("SELECT count(*) FROM other")), 1);
}

TEST(Migration, a_step_that_fails_is_taken_back_whole) {
  const TempFolder folder(Place::memory);
  constexpr Migration bad[] = {kSteps[0], {2, "INSERT INTO word VALUES('half'); SELECT nonsense;"}};
  Connection db = open_file(folder / "a.db");
  EXPECT_FALSE(migrate(db, bad).ok());
  EXPECT_EQ(version(db), 1);
  EXPECT_EQ(must(db.integer("SELECT count(*) FROM word")), 1);
}

TEST(Migration, a_step_that_leaves_orphans_is_taken_back) {
  const TempFolder folder(Place::memory);
  constexpr Migration bad[] = {
      {1,
       "CREATE TABLE a(id INTEGER PRIMARY KEY); CREATE TABLE b(a INTEGER REFERENCES a(id)); "
       "PRAGMA defer_foreign_keys=ON; INSERT INTO b VALUES(7);"}};
  Connection db = open_file(folder / "a.db");
  EXPECT_EQ(code_of(migrate(db, bad)), "LIBRARY_DAMAGED");
  EXPECT_EQ(version(db), 0);
}

// F28, with failing calls in place of a crash: the old schema or a later one, no row lost.
TEST(Migration, any_failed_call_leaves_a_whole_step) {
  FailingVfs vfs("failing");
  for (int n = 0; n < 500; ++n) {
    SCOPED_TRACE("call " + std::to_string(n));
    const TempFolder folder(Place::memory);
    {
      Connection db = open_file(folder / "a.db");
      must(migrate(db, std::span(kSteps).first(1)));
    }
    vfs.fail_at(n, FailingVfs::How::io_error, FailingVfs::Then::always);
    {
      auto db =
          Connection::open({folder / "a.db", Access::read_write, Content::library, vfs.name()});
      if (db.ok() && db.value().use_journal().ok()) (void)migrate(db.value(), kSteps);
    }
    vfs.stop_failing();
    Connection db = open_file(folder / "a.db");
    const std::int64_t reached = version(db);
    ASSERT_TRUE(reached >= 1 && reached <= 3);
    EXPECT_EQ(must(db.integer("SELECT count(*) FROM word WHERE text = 'kept'")), 1);
    if (reached >= 2) {
      EXPECT_EQ(must(db.integer("SELECT sum(n) FROM word")), 5);
    }
    must(migrate(db, kSteps));
    EXPECT_EQ(version(db), 3);
    if (HasFailure()) return;
    if (vfs.has_failed()) continue;
    RecordProperty("faults", n);
    return;
  }
  FAIL() << "the migration makes more than 500 calls";
}

TEST(Migration, a_backup_is_whole_private_and_replaces_an_unfinished_one) {
  const TempFolder folder;
  Connection db = open_file(folder / "a.db");
  must(migrate(db, kSteps));
  write_file(folder / "copy.db", "half a copy");
  must(back_up(db, folder / "copy.db"));
  EXPECT_EQ(integrity(folder / "copy.db"), "ok");
  EXPECT_EQ(fs::status(folder / "copy.db").permissions(), fs::perms(0600));
  Connection copy = open_file(folder / "copy.db");
  EXPECT_EQ(version(copy), 3);
  EXPECT_EQ(must(copy.integer("SELECT count(*) FROM word")), 1);
}

TEST(Migration, the_steps_that_ship_are_numbered_without_a_gap) {
  for (const auto steps : {library_migrations(), kv_migrations()}) {
    ASSERT_FALSE(steps.empty());
    for (std::size_t i = 0; i < steps.size(); ++i)
      EXPECT_EQ(steps[i].version, static_cast<int>(i) + 1);
  }
}

constexpr std::int64_t kChecksumOfX = 4098266042096971714;

// A library as schema 1 wrote it: tests/golden/library.
void make_old_library(const TempFolder& folder) {
  fs::create_directories(folder / "data");
  run_sql(folder / "data/library.db",
          read_file(test::source_dir() + "/tests/golden/library/schema-1.sql").c_str());
}

void expect_old_chats(Library& library) {
  const auto notes = must(library.find_chat("notes"));
  ASSERT_TRUE(notes.has_value());
  EXPECT_EQ(notes->n_messages, 6u);
  EXPECT_EQ(notes->n_tokens, 73u);
  const auto found = must(library.messages(notes->id));
  ASSERT_EQ(found.size(), 6u);
  EXPECT_EQ(found[0].kind, runtime::MessageKind::document);
  EXPECT_EQ(found[0].title, "todo.txt");
  EXPECT_EQ(found[0].text, "Buy milk on Monday.");
  EXPECT_EQ(found[0].tokens.size(), 15u);
  EXPECT_EQ(found[1].text, "Noted.");
  EXPECT_EQ(found[4].text, "Where is the bell?");
  EXPECT_EQ(found[4].kind, runtime::MessageKind::text);
  EXPECT_EQ(found[0].parent, MessageId{});
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].state, runtime::MessageState::complete);
    EXPECT_EQ(found[i].tokenizer, 0u);
    EXPECT_EQ(found[i].model, notes->setup.model_fingerprint);
    if (i > 0) {
      EXPECT_EQ(found[i].parent, found[i - 1].id);
    }
  }
  const auto talk = must(library.find_chat("talk"));
  EXPECT_EQ(texts(library, talk->id),
            (std::vector<std::string>{"You answer questions.", "Where is the bell?",
                                      "The notes do not say."}));
}

TEST(Schema, a_library_of_schema_1_opens_with_all_its_messages_and_goes_on) {
  const TempFolder folder;
  make_old_library(folder);
  {
    const auto store = open_store(folder);
    EXPECT_TRUE(fs::exists(store->library().report().backup));
    expect_old_chats(store->library());
    const ChatId chat = must(store->library().find_chat("notes"))->id;
    say(store->library(), chat, "a new one");
    const auto found = must(store->library().messages(chat));
    EXPECT_EQ(found.back().parent, found[5].id);
    must(store->library().truncate(chat, found[3].id));
    EXPECT_EQ(must(store->library().messages(chat)).size(), 4u);
    must(store->library().truncate(chat, found[5].id));
    expect_old_chats(store->library());
    EXPECT_EQ(must(store->library().chat(chat)).place, runtime::ListPlace::by_use);
    must(store->library().set_note(chat, runtime::kPlaceNote, runtime::kPlaceTop));
    EXPECT_EQ(must(store->library().chat(chat)).place, runtime::ListPlace::top);
  }
  EXPECT_EQ(integrity(folder / "data/library.db"), "ok");
}

TEST(Schema, a_library_of_schema_1_that_may_not_be_changed_is_read_as_it_is) {
  const TempFolder folder;
  make_old_library(folder);
  const std::string before = read_file(folder / "data/library.db");
  {
    const auto store = open_store(folder, {.mode = OpenMode::read_only});
    expect_old_chats(store->library());
    EXPECT_EQ(must(store->library().chats()).size(), 2u);
  }
  EXPECT_EQ(read_file(folder / "data/library.db"), before);
}

// What an older program reads of a newer file: its own columns and checksum.
TEST(Schema, rows_keep_the_checksum_of_schema_1) {
  const TempFolder folder;
  make_old_library(folder);
  {
    const auto store = open_store(folder);
    const ChatId chat = must(store->library().create_chat(named("again")));
    for (int i = 0; i < 2; ++i) must(store->library().remove_chat({i + 1}));
    must(store->library().append(chat, {.role = runtime::Role::user,
                                        .text = "x",
                                        .tokens = {},
                                        .kind = runtime::MessageKind::document,
                                        .title = "t.txt",
                                        .tokenizer = 5}));
  }
  Connection db = open_file(folder / "data/library.db");
  // FNV-1a of a row of chat 3, by hand: tests/golden/library/README.md.
  EXPECT_EQ(must(db.integer("SELECT checksum FROM message WHERE chat = 3")), kChecksumOfX);
}

TEST(Schema, a_newer_library_is_read_and_not_touched) {
  const TempFolder folder;
  ChatId chat;
  {
    const auto store = open_store(folder);
    chat = must(store->library().create_chat(named("a")));
    say(store->library(), chat, "hello");
  }
  run_sql(folder / "data/library.db", "PRAGMA user_version = 14; ALTER TABLE chat ADD colour TEXT");
  const std::string before = read_file(folder / "data/library.db");
  {
    const auto store = open_store(folder);
    ASSERT_TRUE(store->library().report().read_only.has_value());
    EXPECT_EQ(store->library().report().read_only->code, "SCHEMA_NEWER");
    EXPECT_EQ(texts(store->library(), chat), std::vector<std::string>{"hello"});
    EXPECT_EQ(code_of(store->library().append(chat, {})), "SCHEMA_NEWER");
    EXPECT_EQ(code_of(store->library().set_setting("a", "b")), "SCHEMA_NEWER");
  }
  EXPECT_EQ(read_file(folder / "data/library.db"), before);
}

// A file of schema 1, as the first release left it, costs its caches and says so.
TEST(Schema, caches_from_before_they_had_keys_are_thrown_away) {
  const TempFolder folder;
  const ChatId chat = must(open_store(folder)->library().create_chat(named("a")));
  const fs::path path = folder / "cache/kvcache.db";
  for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(path.string() + suffix);
  {
    Connection old = must(Connection::open({path, Access::read_write, Content::cache, {}}));
    must(migrate(old, kv_migrations().first(1)));
    must(old.exec("INSERT INTO meta(key, value) VALUES('library_id', 'library')"));
    must(old.exec(("INSERT INTO chat(id, used_seq, generation, manifest) VALUES(" +
                   std::to_string(chat.value) + ", 1, 1, x'00')")
                      .c_str()));
  }
  const auto store = open_store(folder);
  ASSERT_NE(store->kv(), nullptr);
  EXPECT_NE(store->cache_notice().find("Another version"), std::string::npos);
  EXPECT_THAT(must(store->kv()->list()), testing::IsEmpty());
  must(store->kv()->put_record(key_of(chat), 0, bytes_of(10, 0)));
}

// Caches of schema 2 go on; what they have can be shared from then on.
TEST(Schema, caches_of_schema_2_are_migrated_and_keep_their_records) {
  const TempFolder folder;
  const fs::path path = folder / "cache/kvcache.db";
  const auto library_id = std::string(open_store(folder)->library().library_id());
  const ChatId chat = must(open_store(folder)->library().create_chat(named("a")));
  for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(path.string() + suffix);
  {
    Connection old = must(Connection::open({path, Access::read_write, Content::cache, {}}));
    must(migrate(old, kv_migrations().first(2)));
    must(old.exec(("INSERT INTO meta(key, value) VALUES('library_id', '" + library_id +
                   "'); INSERT INTO cache VALUES(1, '" + key_of(chat).name + "', " +
                   std::to_string(chat.value) +
                   ", 1, 5, x'0102', 'model', 'recipe', 9);"
                   "INSERT INTO block_bytes VALUES(1, x'0a0b');"
                   "INSERT INTO block VALUES(1, 3, 1, 2, 1);")
                      .c_str()));
  }
  const auto store = open_store(folder);
  ASSERT_NE(store->kv(), nullptr);
  EXPECT_EQ(store->cache_notice(), "");
  const auto manifest = must(store->kv()->newest_manifest(key_of(chat)));
  ASSERT_TRUE(manifest.has_value());
  EXPECT_EQ(manifest->generation, 5u);
  EXPECT_EQ(manifest->note, "");
  const std::vector<std::byte> record{std::byte{10}, std::byte{11}};
  EXPECT_EQ(must(store->kv()->record(key_of(chat), 3)), record);
  must(store->kv()->share_record(key_of(chat), 3, key_of({77})));
  must(store->kv()->drop(key_of(chat)));
  EXPECT_EQ(must(store->kv()->record(key_of({77}), 3)), record);
}

// One of schema 2, as releases before the shelf wrote it.
TEST(Schema, a_library_of_schema_2_gets_a_shelf_and_is_read_without_one) {
  const TempFolder folder;
  const fs::path path = folder / "data/library.db";
  open_store(folder);
  for (const char* suffix : {"", "-wal", "-shm"}) fs::remove(path.string() + suffix);
  fs::remove_all(folder / "cache");
  {
    Connection old = open_file(path);
    must(old.use_journal());
    must(migrate(old, library_migrations().first(2)));
  }
  {
    const auto store = open_store(folder, {.mode = OpenMode::read_only});
    EXPECT_THAT(must(store->shelf()), testing::IsEmpty());
    EXPECT_FALSE(store->keep_document("a.txt", "words").ok());
  }
  const auto store = open_store(folder);
  must(store->keep_document("a.txt", "words"));
  EXPECT_EQ(must(store->shelf()).size(), 1u);
  EXPECT_NE(store->library().report().backup, fs::path());
}

// Its name does not make a database ours: chats go on without saved caches, and it stays.
TEST(Schema, a_database_of_somebody_else_stays_as_it_is) {
  const TempFolder folder;
  const fs::path path = folder / "cache/kvcache.db";
  fs::create_directories(folder / "cache");
  run_sql(path, "PRAGMA application_id = 7; CREATE TABLE theirs(a); INSERT INTO theirs VALUES(1)");
  const std::string before = read_file(path);
  const auto store = open_store(folder);
  EXPECT_EQ(store->kv(), nullptr);
  EXPECT_NE(store->cache_notice().find("not made by Satchel"), std::string::npos);
  must(store->library().create_chat(named("a")));
  EXPECT_EQ(read_file(path), before);
}

TEST(Schema, a_cache_of_another_version_is_thrown_away) {
  const TempFolder folder;
  {
    const auto store = open_store(folder);
    const ChatId chat = must(store->library().create_chat(named("a")));
    must(store->kv()->put_record(key_of(chat), 0, bytes_of(10, 0)));
  }
  run_sql(folder / "cache/kvcache.db", "PRAGMA user_version = 14");
  const auto store = open_store(folder);
  ASSERT_NE(store->kv(), nullptr);
  EXPECT_NE(store->cache_notice(), "");
  EXPECT_THAT(must(store->kv()->list()), testing::IsEmpty());
}

}  // namespace
}  // namespace satchel::storage
