// A library.db that lost its bytes, or is gone, beside what its chats left: nothing that may be the
// only copy is deleted or replaced, and what is said is true.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "failing_vfs.h"
#include "fixtures.h"

namespace satchel::storage {
namespace {
namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

// A chat of one message, with a saved cache.
void make_chat(const TempFolder& folder) {
  const auto store = open_store(folder);
  const ChatId chat = must(store->library().create_chat(named("a")));
  say(store->library(), chat, "hello");
  must(store->kv()->put_record(key_of(chat), 0, bytes_of(10, 0)));
}

std::string message_of(const Result<std::unique_ptr<Store>>& opened) {
  return opened.ok() ? std::string() : opened.error().message;
}

TEST(LostLibrary, an_emptied_one_is_damaged_and_stays_as_it_is) {
  const TempFolder folder;
  make_chat(folder);
  write_file(folder / "data/library.db", "");
  const std::string caches = read_file(folder / "cache/kvcache.db");
  for (const OpenMode mode : {OpenMode::read_write, OpenMode::read_only}) {
    const auto opened = try_store(folder, {.mode = mode});
    EXPECT_EQ(code_of(opened), "LIBRARY_DAMAGED");
    EXPECT_THAT(message_of(opened), HasSubstr("To start with an empty library, move all files"));
  }
  EXPECT_EQ(fs::file_size(folder / "data/library.db"), 0u);
  EXPECT_EQ(read_file(folder / "cache/kvcache.db"), caches);
}

TEST(LostLibrary, a_missing_one_is_begun_anew_and_the_caches_wait_for_the_old_one) {
  const TempFolder folder;
  make_chat(folder);
  fs::rename(folder / "data/library.db", folder / "data/found again");
  {
    const auto store = open_store(folder);
    EXPECT_THAT(store->cache_notice(), HasSubstr("library.db was missing"));
    EXPECT_THAT(store->cache_notice(), HasSubstr("kvcache-of-"));
    EXPECT_THAT(store->cache_notice(), Not(HasSubstr("No message is lost")));
    EXPECT_TRUE(must(store->library().chats()).empty());
  }
  EXPECT_EQ(open_store(folder)->cache_notice(), "");
  fs::rename(folder / "data/found again", folder / "data/library.db");
  const auto store = open_store(folder);
  EXPECT_EQ(texts(store->library(), {1}), std::vector<std::string>{"hello"});
  EXPECT_EQ(must(store->kv()->record(key_of({1}), 0)), bytes_of(10, 0));
}

TEST(LostLibrary, a_missing_one_beside_its_caches_is_not_shown_as_empty) {
  const TempFolder folder;
  make_chat(folder);
  fs::rename(folder / "data/library.db", folder / "data/found again");
  const auto opened = try_store(folder, {.mode = OpenMode::read_only});
  EXPECT_EQ(code_of(opened), "STORAGE");
  EXPECT_THAT(message_of(opened), HasSubstr("is missing, but"));
  EXPECT_FALSE(fs::exists(folder / "data/library.db"));
}

TEST(LostLibrary, one_that_is_a_link_to_itself_or_to_nothing_is_not_shown_as_empty) {
  for (const char* target : {"library.db", "nowhere"}) {
    const TempFolder folder;
    fs::create_directory(folder / "data");
    fs::create_symlink(target, folder / "data/library.db");
    for (const OpenMode mode : {OpenMode::read_only, OpenMode::read_write}) {
      const auto opened = try_store(folder, {.mode = mode});
      EXPECT_EQ(code_of(opened), "STORAGE");
      EXPECT_THAT(message_of(opened), HasSubstr("cannot be read: "));
    }
  }
}

bool exists_empty(const fs::path& file) {
  return fs::exists(file) && fs::file_size(file) == 0;
}

bool exists_begun(const TempFolder& folder) {
  return fs::exists(folder / "data/library.db-new") ||
         fs::exists(folder / "data/library.db-new-journal");
}

TEST(LostLibrary, a_new_one_that_the_disk_refused_leaves_no_empty_file) {
  FailingVfs vfs("failing");
  int n = 0;
  for (bool has_failed = true; has_failed; ++n) {
    SCOPED_TRACE("call " + std::to_string(n));
    const TempFolder folder(Place::memory);
    make_chat(folder);
    fs::rename(folder / "data/library.db", folder / "data/found again");
    vfs.fail_at(n, FailingVfs::How::full, FailingVfs::Then::always);
    const bool is_open = try_store(folder, {.vfs = vfs.name()}).ok();
    has_failed = vfs.has_failed();
    vfs.stop_failing();
    EXPECT_TRUE(is_open || !exists_empty(folder / "data/library.db"));
    EXPECT_FALSE(exists_begun(folder));
    EXPECT_TRUE(must(open_store(folder)->library().chats()).empty());
    ASSERT_LT(n, 1000);
  }
  EXPECT_GT(n, 5);
}

TEST(LostLibrary, a_new_one_whose_making_was_killed_is_made_by_the_next_start) {
  FailingVfs vfs("killing");
  int n = 0;
  for (bool was_killed = true; was_killed; ++n) {
    SCOPED_TRACE("call " + std::to_string(n));
    const TempFolder folder(Place::memory);
    make_chat(folder);
    fs::rename(folder / "data/library.db", folder / "data/found again");
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      vfs.fail_at(n, FailingVfs::How::killed, FailingVfs::Then::once);
      ::_exit(try_store(folder, {.vfs = vfs.name()}).ok() ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    was_killed = WEXITSTATUS(status) == FailingVfs::kKilled;
    EXPECT_TRUE(was_killed || WEXITSTATUS(status) == 0);
    EXPECT_FALSE(exists_empty(folder / "data/library.db"));
    EXPECT_TRUE(must(open_store(folder)->library().chats()).empty());
    EXPECT_FALSE(exists_begun(folder));
    ASSERT_LT(n, 1000);
  }
  EXPECT_GT(n, 5);
}

TEST(LostLibrary, no_promise_is_made_where_damaged_caches_lie_beside_none) {
  const TempFolder folder;
  make_chat(folder);
  fs::remove(folder / "data/library.db");
  write_file(folder / "cache/kvcache.db", std::string(5000, 'x'));
  const auto store = open_store(folder);
  EXPECT_THAT(store->cache_notice(), HasSubstr("library.db was missing"));
  EXPECT_THAT(store->cache_notice(), Not(HasSubstr("No message is lost")));
}

TEST(LostLibrary, a_write_ahead_log_without_its_library_is_not_deleted) {
  for (const bool is_empty : {true, false}) {
    const TempFolder folder;
    std::string log;
    {
      const auto store = open_store(folder);
      say(store->library(), must(store->library().create_chat(named("a"))), "hello");
      log = read_file(folder / "data/library.db-wal");
    }
    ASSERT_THAT(log, HasSubstr("hello"));
    fs::remove_all(folder / "cache");
    fs::remove(folder / "data/library.db");
    if (is_empty) write_file(folder / "data/library.db", "");
    write_file(folder / "data/library.db-wal", log);
    EXPECT_EQ(code_of(try_store(folder)), "LIBRARY_DAMAGED");
    EXPECT_EQ(code_of(try_store(folder, {.mode = OpenMode::read_only})), "LIBRARY_DAMAGED");
    EXPECT_EQ(read_file(folder / "data/library.db-wal"), log);
  }
}

TEST(LostLibrary, a_rollback_journal_without_its_library_is_not_deleted) {
  for (const bool is_empty : {true, false}) {
    const TempFolder folder;
    fs::create_directory(folder / "data");
    if (is_empty) write_file(folder / "data/library.db", "");
    write_file(folder / "data/library.db-journal", "words");
    EXPECT_EQ(code_of(try_store(folder)), "LIBRARY_DAMAGED");
    EXPECT_EQ(read_file(folder / "data/library.db-journal"), "words");
    EXPECT_EQ(fs::exists(folder / "data/library.db"), is_empty);
  }
}

TEST(LostLibrary, none_is_begun_beside_a_log_by_whoever_opens_it) {
  const StandingClock clock;
  for (const char* suffix : {"-wal", "-journal"}) {
    const TempFolder folder;
    const fs::path log = folder / (std::string("library.db") + suffix);
    write_file(log, "words");
    const auto opened = Library::open({.path = folder / "library.db", .clock = &clock});
    ASSERT_FALSE(opened.ok());
    EXPECT_EQ(opened.error().code, "LIBRARY_DAMAGED");
    EXPECT_THAT(opened.error().message, HasSubstr(suffix));
    EXPECT_EQ(read_file(log), "words");
    EXPECT_FALSE(fs::exists(folder / "library.db"));
  }
}

TEST(LostLibrary, none_is_begun_where_one_that_was_open_to_read_went_missing) {
  const TempFolder folder;
  make_chat(folder);
  FailingVfs vfs("refusing");
  std::unique_ptr<Store> store;
  for (int n = 0; store == nullptr || !store->library().report().read_only; ++n) {
    ASSERT_LT(n, 1000);
    store.reset();
    vfs.fail_at(n, FailingVfs::How::full, FailingVfs::Then::once);
    store = open_store(folder, {.vfs = vfs.name()});
    vfs.stop_failing();
  }
  fs::rename(folder / "data/library.db", folder / "data/moved");
  const auto refused = store->library().create_chat(named("b"));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("was moved or deleted"));
  EXPECT_FALSE(fs::exists(folder / "data/library.db"));
  EXPECT_EQ(texts(store->library(), {1}), std::vector<std::string>{"hello"});
  fs::rename(folder / "data/moved", folder / "data/library.db");
  must(store->library().create_chat(named("b")));
}

TEST(LostLibrary, what_was_begun_of_another_goes_when_it_is_opened) {
  const TempFolder folder;
  make_chat(folder);
  for (const char* name : {"data/library.db-new", "data/library.db-new-journal"})
    write_file(folder / name, "begun");
  EXPECT_EQ(texts(open_store(folder)->library(), {1}), std::vector<std::string>{"hello"});
  EXPECT_FALSE(exists_begun(folder));
}

TEST(LostLibrary, an_empty_file_that_never_held_a_chat_becomes_a_library) {
  const TempFolder folder;
  fs::create_directory(folder / "data");
  write_file(folder / "data/library.db", "");
  const auto store = open_store(folder);
  EXPECT_EQ(store->cache_notice(), "");
  must(store->library().create_chat(named("a")));
}

TEST(LostLibrary, a_backup_is_named_where_there_is_one) {
  const TempFolder folder;
  fs::create_directory(folder / "data");
  write_file(folder / "data/library.db", std::string(9000, 'x'));
  EXPECT_THAT(message_of(try_store(folder)), Not(HasSubstr("library-before")));
  EXPECT_THAT(message_of(try_store(folder)), HasSubstr("To start with an empty library"));
  write_file(folder / "data/library-before-2.db", "a copy");
  EXPECT_THAT(message_of(try_store(folder)), HasSubstr("\"library-before-2.db\""));
  EXPECT_THAT(message_of(try_store(folder)), HasSubstr("start with an empty library"));
}

}  // namespace
}  // namespace satchel::storage
