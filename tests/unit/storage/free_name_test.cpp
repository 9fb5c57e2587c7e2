// A new library's name on file systems that cannot rename without replacing: FUSE ones say so.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "fixtures.h"
#include "storage/folder/folder.h"

namespace satchel::storage {
namespace {

int g_refusal = 0;  // errno of renameat2() with flags; 0: it does what it does
int g_refused = 0;

class FreeName : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    g_refusal = GetParam();
    g_refused = 0;
  }
  void TearDown() override { g_refusal = 0; }
};

TEST_P(FreeName, is_taken_where_it_is_free_and_nobody_is_overwritten) {
  const TempFolder folder;
  write_file(folder / "new", "made");
  write_file(folder / "taken", "somebody's");
  EXPECT_FALSE(must(rename_to_free(folder / "new", folder / "taken")));
  EXPECT_EQ(read_file(folder / "taken"), "somebody's");
  EXPECT_EQ(read_file(folder / "new"), "made");
  EXPECT_TRUE(must(rename_to_free(folder / "new", folder / "free")));
  EXPECT_EQ(read_file(folder / "free"), "made");
  EXPECT_FALSE(std::filesystem::exists(folder / "new"));
  struct stat found {};
  ASSERT_EQ(::stat((folder / "free").c_str(), &found), 0);
  EXPECT_EQ(found.st_nlink, 1u) << "the old name is gone, not only hidden";
  EXPECT_FALSE(rename_to_free(folder / "new", folder / "other").ok());
  EXPECT_EQ(g_refused, g_refusal == 0 ? 0 : 3);
}

TEST_P(FreeName, is_that_of_a_library_begun_there) {
  const TempFolder folder;
  {
    const auto store = open_store(folder);
    EXPECT_FALSE(store->library().report().read_only.has_value());
    const ChatId chat = must(store->library().create_chat(named("a")));
    say(store->library(), chat, "kept");
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "data/library.db-new"));
  const auto store = open_store(folder);
  EXPECT_EQ(texts(store->library(), must(store->library().find_chat("a"))->id),
            std::vector<std::string>{"kept"});
  EXPECT_EQ(g_refused, g_refusal == 0 ? 0 : 1);
}

// A kill between the second name and the end of the first leaves both.
TEST_P(FreeName, that_a_kill_left_twice_is_the_librarys) {
  const TempFolder folder;
  { open_store(folder); }
  std::filesystem::create_hard_link(folder / "data/library.db", folder / "data/library.db-new");
  const auto store = open_store(folder);
  EXPECT_FALSE(store->library().report().read_only.has_value());
  EXPECT_FALSE(std::filesystem::exists(folder / "data/library.db-new"));
}

INSTANTIATE_TEST_SUITE_P(FileSystems, FreeName, testing::Values(0, EINVAL, ENOSYS),
                         [](const auto& row) {
                           return row.param == 0        ? "with_it"
                                  : row.param == EINVAL ? "einval"
                                                        : "enosys";
                         });

}  // namespace

// For renameat2() below.
bool refuses_rename(unsigned flags) {
  if (flags == 0 || g_refusal == 0) return false;
  ++g_refused;
  errno = g_refusal;
  return true;
}

}  // namespace satchel::storage

// In place of the C library's, for all of this program.
extern "C" int renameat2(int from_folder, const char* from, int to_folder, const char* to,
                         unsigned flags) noexcept {
  if (satchel::storage::refuses_rename(flags)) return -1;
  return static_cast<int>(::syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}
