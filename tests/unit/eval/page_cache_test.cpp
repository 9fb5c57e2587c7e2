// Files in the page cache.
#include "app/eval/measure/page_cache.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "support/temp_folder.h"

namespace satchel::eval {
namespace {

TEST(PageCache, reads_files_to_their_end) {
  const test::TempFolder folder;
  std::ofstream(folder.path() / "a") << "twelve bytes";
  const std::vector<std::filesystem::path> files = {folder.path() / "a", folder.path() / "a"};
  const auto n = read_plainly(files);
  ASSERT_TRUE(n.ok()) << n.error().message;
  EXPECT_EQ(*n, 24u);
}

TEST(PageCache, names_a_file_that_is_missing_and_says_that_it_is) {
  const test::TempFolder folder;
  const std::vector<std::filesystem::path> files = {folder.path() / "gone"};
  const auto read = read_plainly(files);
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().message, "\"gone\" cannot be read: No such file or directory.");
  const auto dropped = drop_from_page_cache(files);
  ASSERT_FALSE(dropped.ok());
  EXPECT_EQ(dropped.error().message, read.error().message);
}

}  // namespace
}  // namespace satchel::eval
