// Chats that outlive their process.
#include <gtest/gtest.h>
#include <signal.h>

#include <fstream>
#include <regex>

#include "process.h"

namespace satchel::test {
namespace {

// Notes of some 750 tokens and their questions, as the demo and `satchel eval` use them.
nlohmann::json heldout(std::size_t line) {
  std::ifstream in(SATCHEL_SOURCE_DIR "/models/notes-heldout.jsonl");
  std::string text;
  for (std::size_t i = 0; i <= line; ++i) std::getline(in, text);
  return nlohmann::json::parse(text);
}

std::string one_line(const nlohmann::json& notes) {
  return std::regex_replace(notes["notes"].get<std::string>(), std::regex("\n"), " ");
}

nlohmann::json messages(const Folder& home, const std::string& chat) {
  return run(home, {"chats", "--show", chat, "--json"}).json()["messages"];
}

class EveryRecipe : public testing::TestWithParam<const char*> {};

// Each question in a process of its own against all in one: the same words, token for token.
TEST_P(EveryRecipe, a_resumed_chat_goes_on_as_if_nothing_had_happened) {
  const Folder home;
  const auto notes = heldout(3);
  std::vector<std::string> turns = {one_line(notes)};
  for (const auto& question : notes["questions"]) turns.push_back(question["question"]);

  std::string all;
  for (const std::string& turn : turns) all += turn + "\n";
  const Finished whole =
      run(home, {"chat", "--chat", "whole", "--recipe", GetParam(), "--quiet"}, all);
  ASSERT_EQ(whole.exit_code, 0) << whole.err;

  for (std::size_t i = 0; i < turns.size(); ++i) {
    const Finished part =
        run(home, {"chat", "--chat", "parts", "--recipe", GetParam()}, turns[i] + "\n");
    ASSERT_EQ(part.exit_code, 0) << part.err;
    if (i > 0) EXPECT_NE(part.err.find("Resumed"), std::string::npos) << part.err;
  }
  const auto expected = messages(home, "whole"), got = messages(home, "parts");
  ASSERT_EQ(expected.size(), got.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(expected[i]["text"], got[i]["text"]) << "message " << i;
    EXPECT_EQ(expected[i]["tokens"], got[i]["tokens"]) << "message " << i;
  }
}
INSTANTIATE_TEST_SUITE_P(Presets, EveryRecipe,
                         testing::Values("full", "balanced", "compact", "extreme"),
                         [](const auto& instance) { return std::string(instance.param); });

TEST(Kill, a_killed_process_loses_no_message) {
  const Folder home;
  const auto notes = heldout(5);
  for (int round = 0; round < 4; ++round) {
    const std::string chat = "killed" + std::to_string(round);
    Running running(home, {"chat", "--chat", chat, "--temperature", "2", "--top-k", "0", "--top-p",
                           "1", "--min-p", "0", "--max-tokens", "400", "--recipe", "compact"});
    running.write("Hello!\n" + one_line(notes) + "\n");
    running.read_more(static_cast<std::size_t>(20 + 60 * round));  // the answer streams
    running.signal(SIGKILL);
    EXPECT_EQ(running.wait(), 128 + SIGKILL);

    const auto kept = messages(home, chat);
    std::vector<std::string> said;
    for (const auto& message : kept)
      if (message["role"] == "user") said.push_back(message["text"]);
    ASSERT_GE(said.size(), 1u);
    EXPECT_EQ(said[0], "Hello!");
    // The chat opens and goes on.
    const Finished after = run(home, {"chat", "--chat", chat, "--prompt", "Thank you.", "--json"});
    EXPECT_EQ(after.exit_code, 0) << after.err;
    EXPECT_EQ(messages(home, chat).size(), kept.size() + 2);
  }
}

TEST(Interrupt, ctrl_c_stops_the_answer_and_keeps_what_it_said) {
  const Folder home;
  Running running(home, {"chat", "--chat", "stopped", "--temperature", "2", "--top-k", "0",
                         "--top-p", "1", "--min-p", "0", "--max-tokens", "1000"});
  running.write("Tell me everything.\n");
  running.read_more(20);
  running.signal(SIGINT);
  EXPECT_EQ(running.wait(), 130);
  const auto kept = messages(home, "stopped");
  ASSERT_GE(kept.size(), 2u);
  EXPECT_EQ(kept.back()["role"], "assistant");
  EXPECT_EQ(kept.back()["state"], "interrupted");
  EXPECT_FALSE(kept.back()["text"].get<std::string>().empty());
}

TEST(Damage, a_damaged_cache_is_read_again_and_said_so) {
  const Folder home;
  const auto notes = heldout(7);
  const Arguments chat = {"chat", "--chat", "n", "--recipe", "compact", "--store", home.string()};
  ASSERT_EQ(run(home, chat, one_line(notes) + "\n").exit_code, 0);
  {
    std::fstream file(home.path() / "kvcache.db", std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(0, std::ios::end);
    const auto size = static_cast<std::streamoff>(file.tellp());
    for (std::streamoff at = size / 2; at < size; at += 4096) {
      file.seekp(at);
      file.write("damaged!", 8);
    }
  }
  const Finished after =
      run(home, chat, notes["questions"][0]["question"].get<std::string>() + "\n");
  EXPECT_EQ(after.exit_code, 0) << after.err;
  EXPECT_EQ(after.err.find("Resumed"), std::string::npos) << after.err;
  EXPECT_NE(after.err.find("again"), std::string::npos) << after.err;
}

}  // namespace
}  // namespace satchel::test
