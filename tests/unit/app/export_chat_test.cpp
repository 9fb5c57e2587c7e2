// A file that is written whole or not at all.
#include "app/chat_files/export_chat.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "support/temp_folder.h"

namespace satchel::app {
namespace {
namespace fs = std::filesystem;

std::string text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(ExportedFile, takes_no_name_that_is_there_unless_it_is_to_be_replaced) {
  const test::TempFolder folder;
  const fs::path path = folder.path() / "chat.md";
  ASSERT_TRUE(write_whole_file(path.string(), "one", ExistingFile::refuse).ok());
  const auto again = write_whole_file(path.string(), "two", ExistingFile::refuse);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, "PARAM");
  EXPECT_EQ(text_of(path), "one");
  ASSERT_TRUE(write_whole_file(path.string(), "two", ExistingFile::replace).ok());
  EXPECT_EQ(text_of(path), "two");
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), {}), 1)
      << "nothing is left beside";
}

TEST(ExportedFile, leaves_nothing_where_it_cannot_be_written) {
  const test::TempFolder folder;
  const auto written =
      write_whole_file((folder.path() / "none/chat.md").string(), "text", ExistingFile::replace);
  ASSERT_FALSE(written.ok());
  EXPECT_EQ(written.error().code, "STORAGE");
  EXPECT_TRUE(fs::is_empty(folder.path()));
}

}  // namespace
}  // namespace satchel::app
