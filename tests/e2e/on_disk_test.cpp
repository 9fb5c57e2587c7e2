// `chat --on-disk`: under a limit that the chat would not fit into, the answers that it has without
// one.
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>

#include "process.h"
#include "support/bundled_model.h"

namespace satchel::test {
namespace {

class OnDisk : public testing::Test {
 protected:
  OnDisk() {
    std::ifstream in(kHeldOut);
    std::string line, text;
    while (std::getline(in, line) && text.size() < 2800) {
      const auto notes = nlohmann::json::parse(line);
      text += notes["notes"].get<std::string>() + "\n";
    }
    document_ = home_.write("notes.txt", text).string();
  }
  Finished chat(const Arguments& more, const std::string& input = "") {
    Arguments all{"chat", "--document", document_, "--temperature", "0", "-n", "60"};
    all.insert(all.end(), more.begin(), more.end());
    return run(home_, all, input);
  }

  Folder home_;
  std::string document_;
  const std::string question_ = "Which notes are there?";
};

TEST_F(OnDisk, a_chat_under_a_low_limit_answers_as_one_without) {
  for (const char* recipe : {"full", "quest"}) {
    const auto near = chat({"--recipe", recipe, "-p", question_, "--json"}).json();
    const Finished far =
        chat({"--recipe", recipe, "--on-disk", "--budget", "6MB", "-p", question_, "--json"});
    ASSERT_EQ(far.exit_code, 0) << far.err;
    EXPECT_EQ(far.json()["answer"], near["answer"]) << recipe;
    EXPECT_FALSE(near["answer"].get<std::string>().empty());
  }
}

// "… needs 3.1 MB (3145728 bytes) for a chat of …"
std::string least_limit(const Finished& refused) {
  const std::size_t begin = refused.err.find('(', refused.err.find(" needs ")) + 1;
  return refused.err.substr(begin, refused.err.find(' ', begin) - begin);
}

TEST_F(OnDisk, the_least_limit_is_lower_and_a_document_fits_under_it) {
  const Arguments asks = {"--recipe", "full", "-p", question_, "--json", "--budget"};
  const auto under = [&](const std::string& limit, bool on_disk) {
    Arguments all = asks;
    all.push_back(limit);
    if (on_disk) all.push_back("--on-disk");
    return chat(all);
  };
  const std::string near = least_limit(under("1KB", false)), far = least_limit(under("1KB", true));
  ASSERT_GT(std::stoul(far), 1000u);
  EXPECT_LT(std::stoul(far), std::stoul(near) * 4 / 5);
  const Finished answered = under(far, true);
  ASSERT_EQ(answered.exit_code, 0) << answered.err;
  EXPECT_EQ(answered.json()["answer"], under("200MB", false).json()["answer"]);
}

TEST_F(OnDisk, a_chat_tells_what_is_where_and_goes_on_another_day) {
  const Arguments chosen = {"--on-disk", "--budget", "6MB", "--chat", "a"};
  Arguments first = chosen;
  first.insert(first.end(), {"--recipe", "full"});
  const Finished told = chat(first, question_ + "\n/memory\n/limit 9MB now\n");
  EXPECT_NE(told.err.find("of keys and values are on disk, exactly as they were"),
            std::string::npos)
      << told.err;
  EXPECT_NE(told.err.find("[FAR_MEMORY]"), std::string::npos) << told.err;
  // Another day, with and without the disk.
  for (const bool on_disk : {true, false}) {
    Arguments again{"chat", "--chat", "a", "-n", "8", "--temperature", "0"};
    if (on_disk) again.insert(again.end(), chosen.begin(), chosen.begin() + 3);
    const Finished resumed = run(home_, again, "/memory\n");
    EXPECT_EQ(resumed.exit_code, 0) << resumed.err;
    EXPECT_NE(resumed.err.find("Resumed"), std::string::npos) << resumed.err;
    EXPECT_EQ(resumed.err.find("are on disk") != std::string::npos, on_disk) << resumed.err;
  }
}

TEST_F(OnDisk, a_recipe_that_rounds_is_refused_with_what_to_do) {
  const Finished refused = chat({"--recipe", "balanced", "--on-disk", "-p", question_});
  EXPECT_NE(refused.exit_code, 0);
  EXPECT_NE(refused.err.find("[FAR_RECIPE]"), std::string::npos) << refused.err;
  EXPECT_NE(refused.err.find("full, quest"), std::string::npos) << refused.err;
}

TEST_F(OnDisk, no_file_is_left_while_a_chat_is_open) {
  Running chat(home_, {"chat", "--chat", "a", "--document", document_, "--on-disk", "--budget",
                       "6MB", "--recipe", "full", "-n", "4", "--temperature", "0"});
  chat.write(question_ + "\n");
  chat.read_until("\n");  // the answer
  for (const auto& entry : std::filesystem::recursive_directory_iterator(home_.path()))
    EXPECT_EQ(entry.path().filename().string().find("far"), std::string::npos) << entry.path();
  chat.signal(SIGKILL);
  chat.wait();
}

}  // namespace
}  // namespace satchel::test
