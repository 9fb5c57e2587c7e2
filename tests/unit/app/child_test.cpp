// Processes with limits: what ends them, and that nothing of them is left.
#include "app/child.h"

#include <gtest/gtest.h>

#include <future>

#include "support/life_line.h"
#include "support/temp_folder.h"
#include "support/value_of.h"

namespace satchel::app {
namespace {

using namespace std::chrono_literals;

constexpr auto kNever = 24h;  // no machine is so slow

class Child : public testing::Test {
 protected:
  static Result<ChildOutput> shell(const std::string& script, const ChildLimits& limits) {
    return run_program("sh", {"-c", script}, limits);
  }
  static std::string code_of(const Result<ChildOutput>& ran) {
    return ran.ok() ? "" : ran.error().code;
  }
  std::string holds_line() const { return "exec 3>" + line_.path() + "; "; }

  test::TempFolder folder_;
  test::LifeLine line_{folder_ / "line"};
};

TEST_F(Child, within_its_limits_says_all_and_how_it_ended) {
  const std::stop_source stop;
  const ChildLimits limits{.bytes_max = 6, .time_max = kNever, .stop = stop.get_token()};
  const ChildOutput said = value_of(shell("echo hello; exit 3", limits));
  EXPECT_EQ(said.text, "hello\n");
  EXPECT_EQ(said.exit_code, 3);
  EXPECT_EQ(value_of(shell("kill -9 $$", limits)).exit_code, 128 + 9);
}

TEST_F(Child, is_stopped_with_all_that_it_started) {
  std::stop_source stop;
  auto ran = std::async(std::launch::async, [&] {
    return shell(holds_line() + "sleep 100000 & echo begun >&3; wait", {.stop = stop.get_token()});
  });
  ASSERT_EQ(line_.line(), "begun\n");
  stop.request_stop();
  EXPECT_TRUE(line_.has_ended());
  const Result<ChildOutput> ended = ran.get();
  ASSERT_EQ(code_of(ended), "STOPPED");
  EXPECT_EQ(ended.error().kind, ErrorKind::cancelled);
}

TEST_F(Child, is_not_started_once_it_is_stopped) {
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(code_of(shell("touch " + (folder_ / "file").string(), {.stop = stop.get_token()})),
            "STOPPED");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "file"));
}

TEST_F(Child, that_takes_too_long_is_ended_with_all_that_it_started) {
  // The time may be over before the shell holds the line: then it never does.
  EXPECT_EQ(code_of(shell("sleep 100000 & wait", {.time_max = 20ms})), "PROCESS_TIME");
  EXPECT_EQ(code_of(shell("exec >&-; sleep 100000", {.time_max = 20ms})), "PROCESS_TIME")
      << "its output has an end, and it has none";
  EXPECT_EQ(code_of(shell("sleep 100000 &", {.time_max = 20ms})), "PROCESS_TIME")
      << "it has an end, and its output has none";
}

TEST_F(Child, that_says_too_much_is_ended_with_all_that_it_started) {
  const std::string script = holds_line() + "sleep 100000 & echo begun >&3; echo seven7";
  EXPECT_EQ(code_of(shell(script, {.bytes_max = 6, .time_max = kNever})), "PROCESS_LIMIT");
  EXPECT_EQ(line_.line(), "begun\n");
  EXPECT_TRUE(line_.has_ended());
  EXPECT_EQ(code_of(shell("echo seven7; exec sleep 100000", {.bytes_max = 6})), "PROCESS_LIMIT")
      << "in our group, too";
}

TEST_F(Child, leaves_nothing_behind_that_it_started) {
  const std::string script = holds_line() + "sleep 100000 >&- & echo begun >&3; echo done";
  EXPECT_EQ(value_of(shell(script, {.time_max = kNever})).text, "done\n");
  EXPECT_EQ(line_.line(), "begun\n");
  EXPECT_TRUE(line_.has_ended());
}

TEST_F(Child, that_is_no_program_is_said_so) {
  const auto ran = run_program("no-such-program-anywhere", {}, {.time_max = kNever});
  ASSERT_EQ(code_of(ran), "PROCESS");
  EXPECT_EQ(ran.error().kind, ErrorKind::not_found);
}

}  // namespace
}  // namespace satchel::app
