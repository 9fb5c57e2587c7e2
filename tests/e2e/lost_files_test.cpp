// Files that are not there: what is said, and what is left behind.
#include <gtest/gtest.h>

#include <filesystem>

#include "process.h"
#include "support/bundled_model.h"

namespace satchel::test {
namespace {
namespace fs = std::filesystem;

TEST(LostFiles, a_saved_chat_whose_model_is_gone_is_kept_and_goes_on_with_another) {
  const Folder home;
  const fs::path model = home.path() / "mine.gguf";
  fs::copy_file(kBundledModel, model);
  const Arguments say = {"chat", "--chat", "g", "--prompt", "Hi", "--max-tokens", "1"};
  const auto with = [&](const std::string& path) {
    Arguments all = say;
    all.insert(all.end(), {"--model", path});
    return run(home, all);
  };
  ASSERT_EQ(with(model.string()).exit_code, 0);
  fs::remove(model);
  const Finished missing = run(home, say);
  EXPECT_EQ(missing.exit_code, 3);
  EXPECT_NE(missing.err.find("[MODEL_MISSING]"), std::string::npos);
  EXPECT_NE(missing.err.find("The chat is kept"), std::string::npos);
  EXPECT_NE(with(model.string()).err.find("[MODEL_NOT_FOUND]"), std::string::npos);
  EXPECT_EQ(with(kBundledModel).exit_code, 0);
  EXPECT_EQ(run(home, {"chats", "--json"}).json()["chats"][0]["messages"], 4);
}

TEST(LostFiles, a_command_that_fails_leaves_no_empty_chat) {
  const Folder home;
  EXPECT_EQ(run(home, {"chat", "--document", "nope.txt"}).exit_code, 3);
  EXPECT_EQ(run(home, {"chat", "--chat", "b", "--document", "nope.txt"}).exit_code, 3);
  EXPECT_EQ(run(home, {"chat", "--chat", "c"}, "/new\n/quit\n").exit_code, 0);
  EXPECT_TRUE(run(home, {"chats", "--json"}).json()["chats"].empty());
}

TEST(LostFiles, a_chat_at_a_terminal_outlasts_a_full_disk) {
  const Folder home;
  Terminal terminal(home, "c");
  terminal.read_until("> ");
  terminal.fill_disk(true);
  terminal.type("Three bells.");
  terminal.read_until("try again.");
  terminal.fill_disk(false);
  terminal.type("Four bells.");
  terminal.type("/quit");
  terminal.read_until("");
  EXPECT_EQ(terminal.wait(), 0);
  const auto rows = run(home, {"chats", "--show", "c", "--json"}).json()["messages"];
  ASSERT_GE(rows.size(), 2u);
  EXPECT_EQ(rows[rows.size() - 2]["text"], "Four bells.");
}

}  // namespace
}  // namespace satchel::test
