// A far store in a file that has no name.
#include "storage/far/far_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <vector>

#include "support/temp_folder.h"

namespace satchel::storage {
namespace {
namespace fs = std::filesystem;

std::vector<std::byte> bytes_of(int seed, std::size_t n) {
  std::vector<std::byte> bytes(n);
  for (std::size_t i = 0; i < n; ++i)
    bytes[i] = static_cast<std::byte>(i * 7 + static_cast<std::size_t>(seed));
  return bytes;
}

TEST(FarFile, gives_back_what_was_written_and_leaves_no_name) {
  const test::TempFolder folder;
  const auto file = FarFile::open(folder.path());
  ASSERT_TRUE(file.ok()) << file.error().message;
  const auto first = bytes_of(1, 5000), second = bytes_of(2, 70000);
  ASSERT_TRUE((*file)->write(100000, second).ok());
  ASSERT_TRUE((*file)->write(0, first).ok());
  ASSERT_TRUE((*file)->write(100000, first).ok());
  std::vector<std::byte> read(5000), rest(65000);
  ASSERT_TRUE((*file)->read(100000, read).ok());
  EXPECT_EQ(read, first);
  ASSERT_TRUE((*file)->read(105000, rest).ok());
  EXPECT_TRUE(std::equal(rest.begin(), rest.end(), second.begin() + 5000));
  EXPECT_TRUE(fs::is_empty(folder.path()));  // while it is open: nothing stays after a crash
}

TEST(FarFile, that_is_shorter_than_what_is_read_says_so) {
  const test::TempFolder folder;
  const auto file = FarFile::open(folder.path());
  ASSERT_TRUE(file.ok());
  ASSERT_TRUE((*file)->write(0, bytes_of(1, 5000)).ok());
  ASSERT_EQ(::ftruncate((*file)->descriptor(), 4000), 0);
  std::vector<std::byte> read(5000);
  const auto done = (*file)->read(0, read);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().code, "FAR_READ");
  EXPECT_NE(done.error().message.find(folder.path().string()), std::string::npos);
}

TEST(FarFile, that_may_not_grow_is_a_full_disk_and_can_be_written_again) {
  const test::TempFolder folder;
  const auto file = FarFile::open(folder.path());
  ASSERT_TRUE(file.ok());
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{.rlim_cur = 8192, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto full = (*file)->write(4096, bytes_of(1, 8192));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old);
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.error().code, "DISK_FULL");
  EXPECT_TRUE((*file)->write(4096, bytes_of(1, 8192)).ok());
}

TEST(FarFile, in_a_folder_that_is_not_there_is_refused) {
  const test::TempFolder folder;
  const auto file = FarFile::open(folder.path() / "none");
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.error().kind, ErrorKind::storage);
  EXPECT_NE(file.error().message.find("none"), std::string::npos);
}

}  // namespace
}  // namespace satchel::storage
