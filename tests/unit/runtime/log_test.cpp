#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "runtime/log/spdlog_sink.h"

namespace satchel::runtime {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Log, writes_a_line_for_each_record_from_its_level_on) {
  const auto path = std::filesystem::path(testing::TempDir()) / "satchel-log-test" / "a.log";
  std::filesystem::remove_all(path.parent_path());
  {
    const auto sink = open_log(path, LogLevel::info);
    ASSERT_TRUE(sink.ok()) << sink.error().message;
    (*sink)(LogLevel::debug, "runtime", "quiet n=1");
    (*sink)(LogLevel::info, "runtime", "saved tokens=12 {not a format}");
    (*sink)(LogLevel::error, "kvcache", "lost n=3");
  }
  std::ifstream file(path);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  EXPECT_THAT(text, Not(HasSubstr("quiet")));
  EXPECT_THAT(text, HasSubstr(" info runtime saved tokens=12 {not a format}\n"));
  EXPECT_THAT(text, HasSubstr(" error kvcache lost n=3\n"));
}

TEST(Log, says_which_file_it_cannot_write) {
  const auto sink = open_log("/proc/no/such/folder/a.log", LogLevel::info);
  ASSERT_FALSE(sink.ok());
  EXPECT_EQ(sink.error().code, "LOG_FILE");
  EXPECT_THAT(sink.error().message, HasSubstr("/proc/no/such/folder/a.log"));
}

}  // namespace
}  // namespace satchel::runtime
