// Chats found, written to files and read back by the command line.
#include <gtest/gtest.h>

#include <filesystem>

#include "process.h"
#include "support/bundled_model.h"

namespace satchel::test {
namespace {

TEST(Cli, words_are_found_in_all_chats) {
  const Folder home;
  EXPECT_EQ(run(home, {"search", "milk"}).out, "Nothing was found.\n");
  const auto document = home.write("todo.txt", "Buy milk on Monday, and bread.");
  run(home, {"chat", "--chat", "notes", "--document", document.string(), "-p", "Hi", "-n", "2"});
  const Finished found = run(home, {"search", "monday", "mil"});
  EXPECT_EQ(found.exit_code, 0) << found.err;
  EXPECT_NE(found.out.find("notes [user, todo.txt]\n    Buy *milk* on *Monday*, and bread.\n"),
            std::string::npos)
      << found.out;
  const auto json = run(home, {"search", "milk on", "--json"}).json();
  ASSERT_EQ(json["found"].size(), 1u);
  EXPECT_EQ(json["found"][0]["name"], "notes");
  EXPECT_EQ(json["found"][0]["document"], "todo.txt");
  EXPECT_EQ(run(home, {"search", ""}).exit_code, 2);
}

TEST(Cli, a_chat_goes_to_a_file_and_comes_back_and_is_continued) {
  const Folder home;
  const auto document = home.write("todo.txt", "Buy milk on Monday.");
  run(home, {"chat", "--chat", "notes", "--system", "Be brief.", "--document", document.string(),
             "-p", "Hi", "-n", "4"});
  const auto words = [&](const char* name) {
    auto rows = run(home, {"chats", "--show", name, "--json"}).json()["messages"];
    for (auto& row : rows)
      for (const char* other : {"id", "created_ms", "tokens"}) row.erase(other);
    return rows;
  };
  for (const char* format : {"markdown", "json"}) {
    const std::string file = (home.path() / format).string();
    EXPECT_EQ(run(home, {"export", "notes", "--format", format, "-o", file}).exit_code, 0);
    EXPECT_EQ(run(home, {"export", "notes", "-o", file}).exit_code, 2) << "it is there already";
    const auto added = run(home, {"import", file, "--json"}).json()["chats"];
    ASSERT_EQ(added.size(), 1u);
    const std::string name = added[0]["name"];
    EXPECT_NE(name, "notes");
    EXPECT_EQ(words(name.c_str()), words("notes"));
    EXPECT_EQ(words(name.c_str())[0]["role"], "system") << "what the chat was told comes with it";
    EXPECT_EQ(words(name.c_str())[0]["text"], "Be brief.");
    const Finished gone_on =
        run(home, {"chat", "--chat", name, "-p", "What is bought?", "-n", "8"});
    EXPECT_EQ(gone_on.exit_code, 0) << gone_on.err;
    EXPECT_EQ(words(name.c_str()).size(), words("notes").size() + 2);
  }
  EXPECT_EQ(run(home, {"import", document.string()}).exit_code, 4);
  EXPECT_EQ(run(home, {"export", "none"}).exit_code, 3);
  const auto copy = run(home, {"backup", (home.path() / "copies").string(), "--json"}).json();
  EXPECT_TRUE(std::filesystem::exists(copy["file"].get<std::string>()));
}

}  // namespace
}  // namespace satchel::test
