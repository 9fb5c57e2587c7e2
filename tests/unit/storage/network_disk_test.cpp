// Network disks, where processes share no memory and so no write-ahead log.
#include "storage/folder/network_disk.h"

#include <gmock/gmock.h>
#include <linux/magic.h>

#include "failing_vfs.h"
#include "fixtures.h"

namespace satchel::storage {
namespace {
namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

const FailingVfs& network() {
  static const FailingVfs kVfs("network", FailingVfs::Memory::none);
  return kVfs;
}

void expect_no_log(const TempFolder& folder) {
  for (const char* name : {"data/library.db", "cache/kvcache.db"})
    for (const char* suffix : {"-wal", "-shm"})
      EXPECT_FALSE(fs::exists((folder / name).string() + suffix)) << name << suffix;
}

TEST(NetworkDisk, is_told_by_its_kind) {
  EXPECT_EQ(network_disk_named(NFS_SUPER_MAGIC), "NFS");
  EXPECT_EQ(network_disk_named(FUSE_SUPER_MAGIC), "FUSE");
  EXPECT_EQ(network_disk_named(V9FS_MAGIC), "9P");
  for (const unsigned long local :
       {0xef53ul, 0x9123683eul, 0x58465342ul, 0x01021994ul, 0x794c7630ul})
    EXPECT_EQ(network_disk_named(local), std::nullopt) << local;
  EXPECT_EQ(network_disk("/dev/shm"), std::nullopt);
  EXPECT_EQ(network_disk("/no/such/file"), std::nullopt);
}

TEST(NetworkDisk, keeps_chats_and_caches_without_a_log_and_says_so) {
  const TempFolder folder;
  {
    const auto store = open_store(folder, {.vfs = network().name()});
    const ChatId chat = must(store->library().create_chat(named("a")));
    say(store->library(), chat, "hello");
    ASSERT_NE(store->kv(), nullptr);
    must(store->kv()->put_record(key_of(chat), 0, bytes_of(10, 0)));
    EXPECT_THAT(store->notices(), Contains(HasSubstr("one computer at a time")));
    expect_no_log(folder);
    // Beside it others may read.
    const auto reader = open_store(folder, {.mode = OpenMode::read_only});
    EXPECT_THAT(texts(reader->library(), chat), ElementsAre("hello"));
  }
  EXPECT_EQ(integrity(folder / "data/library.db"), "ok");
  const auto again = open_store(folder, {.vfs = network().name()});
  EXPECT_THAT(texts(again->library(), {1}), ElementsAre("hello"));
  EXPECT_EQ(must(again->kv()->record(key_of({1}), 0)), bytes_of(10, 0));
}

TEST(NetworkDisk, a_store_may_move_there_and_back_with_the_log_that_a_kill_left) {
  const TempFolder folder;
  {
    const auto store = open_store(folder);
    const ChatId chat = must(store->library().create_chat(named("a")));
    say(store->library(), chat, "in the log");
    fs::copy(folder / "data", folder / "moved");  // as it would lie after a kill
    EXPECT_GT(fs::file_size(folder / "moved/library.db-wal"), 0u);
  }
  fs::remove(folder / "moved/library.db-shm");
  fs::remove_all(folder / "data");
  fs::rename(folder / "moved", folder / "data");
  {
    const auto there = open_store(folder, {.vfs = network().name()});
    EXPECT_THAT(texts(there->library(), {1}), ElementsAre("in the log"));
    say(there->library(), {1}, "there");
    expect_no_log(folder);
  }
  const auto back = open_store(folder);
  EXPECT_THAT(texts(back->library(), {1}), ElementsAre("in the log", "there"));
  EXPECT_TRUE(fs::exists(folder / "data/library.db-wal"));
  EXPECT_TRUE(back->notices().empty());
}

}  // namespace
}  // namespace satchel::storage
