// The folders: who may write, who may read, and what others may see.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "failing_vfs.h"
#include "fixtures.h"
#include "storage/folder/folder.h"

namespace satchel::storage {
namespace {
namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

unsigned mode_of(const fs::path& path) {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 ? found.st_mode & 07777u : 0;
}

// Runs `work` in a child, as a user who is not root; 0 if it returned true.
int in_child(const std::function<bool()>& work, bool drop_root = false) {
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (drop_root && ::geteuid() == 0 && (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0))
      ::_exit(7);
    try {
      ::_exit(work() ? 0 : 1);
    } catch (...) {
      ::_exit(8);
    }
  }
  int status = 0;
  (void)::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Store, folders_and_files_are_for_their_owner_alone) {
  const TempFolder folder;
  const auto store = open_store(folder);
  const ChatId chat = must(store->library().create_chat(named("a")));
  must(store->kv()->put_record(key_of(chat), 0, bytes_of(10, 0)));
  EXPECT_EQ(mode_of(folder / "data"), 0700u);
  EXPECT_EQ(mode_of(folder / "cache"), 0700u);
  for (const char* name : {"data/library.db", "data/library.db-wal", "data/library.db-shm",
                           "data/library.lock", "cache/kvcache.db", "cache/kvcache.db-wal"})
    EXPECT_EQ(mode_of(folder / name), 0600u) << name;
}

TEST(Store, takes_the_rights_of_others_from_its_own_folders_but_not_from_those_that_were_named) {
  for (const StoreFolders whose : {StoreFolders::ours, StoreFolders::named}) {
    const TempFolder folder;
    for (const char* name : {"data", "cache"}) {
      fs::create_directory(folder / name);
      fs::permissions(folder / name, fs::perms(0755));
    }
    open_store(folder, {.folders = whose});
    const unsigned wanted = whose == StoreFolders::ours ? 0700u : 0755u;
    EXPECT_EQ(mode_of(folder / "data"), wanted);
    EXPECT_EQ(mode_of(folder / "cache"), wanted);
  }
}

TEST(Store, copies_that_updates_left_are_listed_and_deleted_by_their_names) {
  const TempFolder folder;
  const auto store = open_store(folder);
  EXPECT_TRUE(store->copies().empty());
  write_file(folder / "data/library-before-2.db", "words");
  write_file(folder / "data/library-before-3.db", "more words");
  const auto copies = store->copies();
  ASSERT_EQ(copies.size(), 2u);
  EXPECT_EQ(copies[0].name, "library-before-3.db");
  EXPECT_EQ(copies[0].bytes, 10u);
  EXPECT_GT(copies[0].written_ms, 0);
  EXPECT_EQ(code_of(store->delete_copy("library.db")), "NO_COPY");
  EXPECT_EQ(code_of(store->delete_copy("../data/library-before-2.db")), "NO_COPY");
  must(store->delete_copy("library-before-3.db"));
  EXPECT_FALSE(fs::exists(folder / "data/library-before-3.db"));
  EXPECT_EQ(store->copies().size(), 1u);
  const auto reader = open_store(folder, {.mode = OpenMode::read_only});
  EXPECT_EQ(code_of(reader->delete_copy("library-before-2.db")), "READ_ONLY");
  EXPECT_TRUE(fs::exists(folder / "data/library.db"));
}

TEST(Store, takes_the_rights_of_others_from_a_file_that_has_them) {
  const TempFolder folder;
  open_store(folder);
  fs::permissions(folder / "data/library.db", fs::perms(0644));
  open_store(folder);
  EXPECT_EQ(mode_of(folder / "data/library.db"), 0600u);
}

TEST(Store, marks_the_cache_folder_for_backup_programs_but_never_the_precious_one) {
  const TempFolder folder;
  open_store(folder);
  EXPECT_EQ(read_file(folder / "cache/CACHEDIR.TAG").rfind("Signature: 8a477f597d28d172", 0), 0u);
  StoreOptions both{.data_dir = folder / "both", .cache_dir = folder / "both"};
  const auto store = must(Store::open(both));
  EXPECT_NE(store->kv(), nullptr);
  EXPECT_FALSE(fs::exists(folder / "both/CACHEDIR.TAG"));
}

TEST(Store, a_folder_is_found_behind_links_as_the_system_finds_it) {
  const TempFolder folder;
  fs::create_directories(folder / "real/place");
  fs::create_directory_symlink(folder / "real/place", folder / "link");
  must(Store::open(
      {.data_dir = folder / "link/../deep/new", .cache_dir = folder / "link/../cache/"}));
  EXPECT_TRUE(fs::exists(folder / "real/deep/new/library.db"));
  EXPECT_TRUE(fs::exists(folder / "real/cache/kvcache.db"));
  EXPECT_EQ(mode_of(folder / "real/deep/new"), 0700u);
  EXPECT_EQ(mode_of(folder / "real/cache"), 0700u);
}

TEST(Store, a_second_process_is_told_who_has_it_open_and_may_read) {
  const TempFolder folder;
  const auto store = open_store(folder);
  const ChatId chat = must(store->library().create_chat(named("a")));
  say(store->library(), chat, "hello");
  const auto as_second = [&] {
    const auto second = try_store(folder);
    const auto reader = open_store(folder, {.mode = OpenMode::read_only});
    return code_of(second) == "LIBRARY_LOCKED" &&
           second.error().message.find("process " + std::to_string(::getppid())) !=
               std::string::npos &&
           texts(reader->library(), chat) == std::vector<std::string>{"hello"} &&
           must(reader->library().chats()).size() == 1 &&
           code_of(reader->library().create_chat(named("b"))) == "READ_ONLY" &&
           code_of(reader->delete_now(chat)) == "READ_ONLY";
  };
  EXPECT_EQ(in_child(as_second), 0);
  say(store->library(), chat, "and on");
}

TEST(Store, a_hundred_starts_at_once_have_one_writer) {
  const TempFolder folder(Place::memory);
  open_store(folder);
  int writers = 0, locked = 0;
  std::vector<pid_t> children;
  int gate[2], leave[2];
  ASSERT_EQ(::pipe(gate), 0);
  ASSERT_EQ(::pipe(leave), 0);
  for (int i = 0; i < 100; ++i) {
    const pid_t child = ::fork();
    if (child == 0) {
      (void)::close(leave[1]);
      const auto store = try_store(folder);
      const char said = store.ok() ? 'w' : code_of(store) == "LIBRARY_LOCKED" ? 'l' : 'x';
      (void)!::write(gate[1], &said, 1);
      char end = 0;
      (void)!::read(leave[0], &end, 1);  // holds it until all have tried
      ::_exit(0);
    }
    children.push_back(child);
  }
  for (int i = 0; i < 100; ++i) {
    char said = 0;
    ASSERT_EQ(::read(gate[0], &said, 1), 1);
    writers += said == 'w' ? 1 : 0;
    locked += said == 'l' ? 1 : 0;
  }
  for (const int end : {gate[0], gate[1], leave[0], leave[1]}) (void)::close(end);
  for (const pid_t child : children) (void)::waitpid(child, nullptr, 0);
  EXPECT_EQ(writers, 1);
  EXPECT_EQ(locked, 99);
}

TEST(Store, opened_to_read_where_nothing_is_says_so_and_makes_nothing) {
  const TempFolder folder;
  EXPECT_EQ(code_of(try_store(folder, {.mode = OpenMode::read_only})), "NO_LIBRARY");
  EXPECT_FALSE(fs::exists(folder / "data"));
}

TEST(Store, a_library_that_nobody_writes_can_be_read) {
  const TempFolder folder;
  must(open_store(folder)->library().create_chat(named("a")));
  const auto reader = open_store(folder, {.mode = OpenMode::read_only});
  EXPECT_EQ(must(reader->library().chats()).size(), 1u);
}

TEST(Store, a_copy_that_fails_is_named_and_leaves_nothing) {
  const TempFolder folder;
  FailingVfs vfs("failing");
  const auto store = open_store(folder, {.vfs = vfs.name()});
  must(store->library().create_chat(named("a")));
  fs::create_directory(folder / "there");
  for (const char* name : {"new/copies", "there"}) {
    vfs.fail_at(0, FailingVfs::How::full, FailingVfs::Then::always);
    const auto copied = store->back_up(folder / name);
    vfs.stop_failing();
    ASSERT_EQ(code_of(copied), "DISK_FULL");
    EXPECT_THAT(copied.error().message, HasSubstr((folder / name).string() + "/library-"));
    EXPECT_THAT(copied.error().message, HasSubstr("No backup was made."));
  }
  EXPECT_FALSE(fs::exists(folder / "new"));
  EXPECT_TRUE(fs::is_empty(folder / "there"));
  must(store->back_up(folder / "new/copies"));
}

TEST(Store, is_copied_beside_a_program_that_writes) {
  const TempFolder folder;
  const auto writer = open_store(folder);
  const ChatId chat = must(writer->library().create_chat(named("a")));
  say(writer->library(), chat, "hello");
  const fs::path copies = folder / "copies";
  const auto reader = open_store(folder, {.mode = OpenMode::read_only});
  const fs::path first = must(reader->back_up(copies));
  say(writer->library(), chat, "again");
  const fs::path second = must(writer->back_up(copies));
  EXPECT_NE(first, second) << "none is replaced";
  EXPECT_EQ(mode_of(copies), 0700u);
  for (const auto& [copy, wanted] : {std::pair{first, 1u}, {second, 2u}}) {
    EXPECT_EQ(mode_of(copy), 0600u);
    EXPECT_EQ(integrity(copy), "ok");
    const TempFolder there;
    fs::create_directory(there / "data");
    fs::copy_file(copy, there / "data/library.db");
    EXPECT_EQ(texts(open_store(there)->library(), chat).size(), wanted);
  }
}

// The one who holds a file that is no longer there excludes nobody.
TEST(FolderLock, is_of_the_file_that_has_the_name) {
  const TempFolder folder;
  const fs::path path = folder / "library.lock";
  const FolderLock old = must(FolderLock::take(path));
  EXPECT_EQ(code_of(FolderLock::take(path)), "LIBRARY_LOCKED");
  fs::remove(path);
  const FolderLock now = must(FolderLock::take(path));
  EXPECT_EQ(code_of(FolderLock::take(path)), "LIBRARY_LOCKED");
}

// As network file systems have them, and /proc: there the file is a link to one that can be.
TEST(SyncFile, a_folder_that_cannot_be_synced_is_no_failure) {
  const TempFolder folder;
  write_file(folder / "a", "text");
  const int file = ::open((folder / "a").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  EXPECT_TRUE(sync_file("/proc/self/fd/" + std::to_string(file)).ok());
  (void)::close(file);
  EXPECT_FALSE(sync_file(folder / "none").ok());
}

TEST(Store, on_a_read_only_disk_chats_and_caches_are_read_and_nothing_is_written) {
  const TempFolder folder;
  ChatId chat;
  {
    const auto store = open_store(folder);
    chat = must(store->library().create_chat(named("a")));
    say(store->library(), chat, "hello");
    must(store->kv()->put_record(key_of(chat), 0, bytes_of(10, 0)));
  }
  const auto names = {"data/library.db", "data/library.lock", "cache/kvcache.db", "data", "cache"};
  for (const char* name : names) {
    if (::geteuid() == 0) {
      ASSERT_EQ(::chown((folder / name).c_str(), 65534, 65534), 0);
    }
    fs::permissions(folder / name, fs::perms(fs::is_directory(folder / name) ? 0500 : 0400));
  }
  if (::geteuid() == 0) {
    ASSERT_EQ(::chown((folder / "").c_str(), 65534, 65534), 0);
  }
  const auto as_reader = [&] {
    const auto store = open_store(folder);
    const auto& reason = store->library().report().read_only;
    return reason && reason->code == "READ_ONLY" &&
           texts(store->library(), chat) == std::vector<std::string>{"hello"} &&
           code_of(store->library().append(chat, {})) == "READ_ONLY" && store->kv() != nullptr &&
           must(store->kv()->record(key_of(chat), 0)) == bytes_of(10, 0);
  };
  EXPECT_EQ(in_child(as_reader, true), 0);
  for (const char* name : {"data", "cache"}) fs::permissions(folder / name, fs::perms(0700));
}

TEST(Store, a_library_that_may_not_be_read_is_not_shown_as_empty) {
  for (const char* closed : {"data", "data/library.db"}) {
    const TempFolder folder;
    must(open_store(folder)->library().create_chat(named("a")));
    if (::geteuid() == 0) {
      for (const char* name : {"", "data", "data/library.db", "data/library.lock"})
        ASSERT_EQ(::chown((folder / name).c_str(), 65534, 65534), 0);
    }
    fs::permissions(folder / closed, fs::perms::none);
    const auto is_refused = [&] {
      for (const OpenMode mode : {OpenMode::read_only, OpenMode::read_write}) {
        const auto opened = try_store(folder, {.mode = mode});
        if (opened.ok() || opened.error().code != "STORAGE") return false;
        if (!opened.error().message.ends_with("cannot be read: Permission denied.")) return false;
      }
      return true;
    };
    EXPECT_EQ(in_child(is_refused, true), 0) << closed;
    fs::permissions(folder / closed, fs::perms::owner_all);
  }
}

TEST(Store, without_a_place_for_caches_chats_work) {
  const TempFolder folder;
  write_file(folder / "cache", "a file where the folder should be");
  const auto store = open_store(folder);
  EXPECT_EQ(store->kv(), nullptr);
  EXPECT_NE(store->cache_notice(), "");
  const ChatId chat = must(store->library().create_chat(named("a")));
  say(store->library(), chat, "hello");
  must(store->delete_now(chat));
}

TEST(Store, a_folder_of_another_user_is_refused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a folder away";
  const TempFolder folder;
  fs::create_directory(folder / "data");
  ASSERT_EQ(::chown((folder / "data").c_str(), 65534, 65534), 0);
  EXPECT_EQ(code_of(try_store(folder)), "STORAGE");
  EXPECT_TRUE(fs::is_empty(folder / "data"));
}

TEST(Store, a_link_in_place_of_the_library_is_not_followed) {
  const TempFolder folder;
  fs::create_directory(folder / "data");
  fs::create_symlink(folder / "elsewhere.db", folder / "data/library.db");
  EXPECT_FALSE(try_store(folder).ok());
  EXPECT_FALSE(fs::exists(folder / "elsewhere.db"));
}

TEST(Store, deleting_now_leaves_no_word_and_no_record_on_the_disk) {
  const TempFolder folder;
  const std::string canary = "canary-of-the-deleted-chat";
  {
    const auto store = open_store(folder);
    const ChatId chat = must(store->library().create_chat(named("a")));
    say(store->library(), chat, canary);
    const MessageId answer = begin_answer(store->library(), chat);
    must(store->library().extend(answer, canary, {}));
    must(store->library().flush());
    must(store->library().finish(answer, runtime::MessageState::complete, canary, {}));
    must(store->kv()->put_record(key_of(chat), 0, std::as_bytes(std::span(canary))));
    must(store->delete_now(chat));
    EXPECT_THAT(must(store->kv()->list()), testing::IsEmpty());
    EXPECT_EQ(code_of(store->delete_now(chat)), "CHAT_NOT_FOUND");
    for (const auto& entry : fs::recursive_directory_iterator(folder.path())) {
      if (entry.path().extension() == ".db-shm" || !entry.is_regular_file()) continue;
      EXPECT_EQ(read_file(entry.path()).find(canary), std::string::npos) << entry.path();
    }
  }
}

TEST(Store, caches_of_chats_that_are_gone_are_swept_at_opening) {
  const TempFolder folder;
  {
    const auto store = open_store(folder);
    must(store->kv()->put_record(key_of({77}), 0, bytes_of(10, 0)));
    const ChatId kept = must(store->library().create_chat(named("a")));
    must(store->kv()->put_record(key_of(kept), 0, bytes_of(10, 0)));
    must(store->kv()->put_record(kvcache::CacheKey::named("document"), 0, bytes_of(10, 0)));
    must(store->library().remove_chat(kept));  // may come back: keeps its cache
  }
  const auto store = open_store(folder);
  std::vector<kvcache::CacheKey> left;
  for (const SavedCache& cache : must(store->kv()->list())) left.push_back(cache.key);
  EXPECT_THAT(left, ElementsAre(key_of({1}), kvcache::CacheKey::named("document")));
}

TEST(Store, a_lost_cache_costs_no_message) {
  const TempFolder folder;
  ChatId chat;
  {
    const auto store = open_store(folder);
    chat = must(store->library().create_chat(named("a")));
    say(store->library(), chat, "hello");
    must(store->kv()->put_record(key_of(chat), 0, bytes_of(10, 0)));
  }
  fs::remove_all(folder / "cache");
  const auto store = open_store(folder);
  EXPECT_EQ(texts(store->library(), chat), std::vector<std::string>{"hello"});
  EXPECT_FALSE(must(store->kv()->newest_manifest(key_of(chat))).has_value());
}

TEST(Store, two_libraries_with_one_cache_folder_do_not_share_caches) {
  const TempFolder folder;
  const auto first = must(Store::open({.data_dir = folder / "one", .cache_dir = folder / "cache"}));
  const auto second =
      must(Store::open({.data_dir = folder / "two", .cache_dir = folder / "cache"}));
  EXPECT_NE(first->kv(), nullptr);
  EXPECT_EQ(second->kv(), nullptr);
  EXPECT_NE(second->cache_notice(), "");
}

}  // namespace
}  // namespace satchel::storage
