// Chats that outlive their process.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "process.h"
#include "support/bundled_model.h"

namespace satchel::test {
namespace {

// The n-th conversation of kHeldOutSet, as `satchel eval` asks it.
nlohmann::json heldout(std::size_t n) {
  std::ifstream in(kHeldOut);
  for (std::string line; std::getline(in, line);) {
    auto conversation = nlohmann::json::parse(line);
    if (conversation["set"] == kHeldOutSet && n-- == 0) return conversation;
  }
  throw std::runtime_error(std::string("too few conversations in ") + kHeldOut);
}

std::vector<std::string> questions(const nlohmann::json& notes) {
  std::vector<std::string> out;
  for (const auto& exchange : notes["exchanges"])
    if (exchange.contains("ask")) out.push_back(exchange["ask"]);
  return out;
}

std::string one_line(const nlohmann::json& notes) {
  return std::regex_replace(notes["notes"].get<std::string>(), std::regex("\n"), " ");
}

nlohmann::json messages(const Folder& home, const std::string& chat) {
  const Finished shown = run(home, {"chats", "--show", chat, "--json"});
  EXPECT_EQ(shown.exit_code, 0) << shown.err;
  const auto json = shown.json();
  EXPECT_TRUE(json.is_object() && json["messages"].is_array()) << shown.out;
  return json["messages"];
}

TEST(LongChat, all_asks_each_part_and_the_notes_stay_with_the_chat) {
  const Folder home;
  std::string text;
  for (std::size_t i = 0; i < 3; ++i) text += heldout(i)["notes"].get<std::string>() + "\n\n";
  const auto document = home.write("notes.txt", text);
  const char* question = "Which pet does Matteo Thorsen keep?";
  const Finished said =
      run(home, {"chat", "--chat", "a", "--recipe", "satchel", "--document", document.string()},
          "What is this all about?\nWhat is it about?\n/all " + std::string(question) + "\n" +
              question + "\n");
  EXPECT_EQ(said.exit_code, 0) << said.err;
  const std::string hint = "/all QUESTION asks each part.";
  EXPECT_NE(said.err.find(hint), std::string::npos) << said.err;
  EXPECT_EQ(said.err.find(hint), said.err.rfind(hint)) << "once";
  EXPECT_NE(said.err.find("Asking part 1 of 3"), std::string::npos) << said.err;
  EXPECT_NE(said.err.find("Part 1 of 2: Matteo"), std::string::npos) << said.err;
  EXPECT_NE(said.err.find("The answer's words appear in part 1."), std::string::npos) << said.err;
  std::size_t n_notes = 0;
  for (const auto& message : messages(home, "a"))
    if (message["title"] == "What each part says") ++n_notes;
  EXPECT_EQ(n_notes, 1u);
  const auto json = run(home, {"chat", "--chat", "a", "--prompt", question, "--json"}).json();
  EXPECT_EQ(json["parts_by_words"], true) << json;
  EXPECT_NE(run(home, {"chat"}, "/all\n").exit_code, 0);
}

// Said when it was packed, when it is opened again and in the list of chats.
TEST(Ledger, and_what_was_measured_stay_with_the_chat) {
  const Folder home;
  const auto notes = heldout(0);
  const auto document = home.write("notes.txt", notes["notes"]);
  const auto said =
      run(home, {"chat", "--chat", "notes", "--recipe", "compact", "--document", document.string(),
                 "--pack", "--prompt", questions(notes).at(0), "--json"})
          .json();
  ASSERT_FALSE(said["ledger"].empty()) << said;
  EXPECT_TRUE(said["recall"]["measured"]) << said;
  EXPECT_GT(said["recall"]["facts_asked"], 10);
  EXPECT_GT(said["fidelity"]["attention_kept"], 0);
  const auto kept = run(home, {"chats", "--ledger", "notes", "--json"}).json();
  EXPECT_EQ(kept["ledger"], said["ledger"]);
  EXPECT_EQ(kept["recall"], said["recall"]);
  EXPECT_EQ(kept["fidelity"], said["fidelity"]);
  const Finished table = run(home, {"chats", "--ledger", "notes"});
  EXPECT_NE(table.out.find("  new text  "), std::string::npos) << table.out;
  EXPECT_NE(table.out.find("(measured at token "), std::string::npos) << table.out;
  const Finished again = run(home, {"chat", "--chat", "notes"}, "/memory\n/ledger\n");
  EXPECT_EQ(again.exit_code, 0);
  for (const char* words : {"Fidelity: same next token", "Recall: ", "Ledger: "})
    EXPECT_NE(again.err.find(words), std::string::npos) << words << ", " << again.err;
  EXPECT_NE(again.err.find("  new text  "), std::string::npos) << again.err;
}

TEST(Ledger, what_compression_cost_is_said_where_it_was_asked_for) {
  const Folder home;
  const auto document = home.write("notes.txt", heldout(0)["notes"]);
  const Finished said =
      run(home, {"chat", "--recipe", "kvzip", "--document", document.string(), "--pack"});
  EXPECT_EQ(said.exit_code, 0) << said.err;
  EXPECT_NE(said.err.find("Fidelity: same next token"), std::string::npos) << said.err;
}

class EveryRecipe : public testing::TestWithParam<const char*> {};

// Each question in a process of its own against all in one: the same words, token for token.
TEST_P(EveryRecipe, a_resumed_chat_goes_on_as_if_nothing_had_happened) {
  const Folder home;
  const auto notes = heldout(3);
  std::vector<std::string> turns = {one_line(notes)};
  for (const std::string& question : questions(notes)) turns.push_back(question);

  std::string all;
  for (const std::string& turn : turns) all += turn + "\n";
  const Finished whole =
      run(home, {"chat", "--chat", "whole", "--recipe", GetParam(), "--quiet"}, all);
  ASSERT_EQ(whole.exit_code, 0) << whole.err;

  for (std::size_t i = 0; i < turns.size(); ++i) {
    const Finished part =
        run(home, {"chat", "--chat", "parts", "--recipe", GetParam()}, turns[i] + "\n");
    ASSERT_EQ(part.exit_code, 0) << part.err;
    if (i > 0) {
      EXPECT_NE(part.err.find("Resumed"), std::string::npos) << part.err;
    }
  }
  const auto expected = messages(home, "whole"), got = messages(home, "parts");
  ASSERT_EQ(expected.size(), 2 * turns.size());
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(expected[i]["text"], got[i]["text"]) << "message " << i;
    EXPECT_EQ(expected[i]["tokens"], got[i]["tokens"]) << "message " << i;
  }
}
INSTANTIATE_TEST_SUITE_P(Presets, EveryRecipe,
                         testing::Values("full", "balanced", "compact", "extreme"),
                         [](const auto& instance) { return std::string(instance.param); });

// Many short turns, so that an answer streams nearly always.
std::string many_turns(const nlohmann::json& notes) {
  std::string lines = one_line(notes) + "\n";
  for (int i = 0; i < 60; ++i)
    for (const std::string& question : questions(notes)) lines += question + "\n";
  return lines;
}

// Each whole answer on standard output was acknowledged, so it must be in the library, in order.
void expect_acknowledged(const std::string& out, const nlohmann::json& kept) {
  std::vector<std::string> answers;
  for (const auto& message : kept)
    if (message["role"] == "assistant") answers.push_back(message["text"]);
  std::istringstream lines(out.substr(0, out.rfind('\n') + 1));
  std::size_t i = 0;
  for (std::string line; std::getline(lines, line); ++i) {
    ASSERT_LT(i, answers.size());
    EXPECT_EQ(answers[i], line);
  }
  for (std::size_t at = 0; at + 1 < kept.size(); ++at)
    EXPECT_EQ(kept[at]["state"], "complete") << at;
}

TEST(Kill, a_killed_process_loses_no_message) {
  const auto notes = heldout(5);
  for (const std::size_t after_bytes : {1u, 60u, 150u, 333u}) {
    const Folder home;
    Running running(home, {"chat", "--chat", "killed", "--recipe", "compact", "--quiet"});
    running.write(many_turns(notes));
    const std::string out = running.read_more(after_bytes);
    running.signal(SIGKILL);
    EXPECT_EQ(running.wait(), 128 + SIGKILL);
    const auto kept = messages(home, "killed");
    expect_acknowledged(out, kept);
    std::istringstream sent(many_turns(notes));
    std::size_t n_said = 0;
    for (const auto& message : kept) {
      if (message["role"] != "user") continue;
      std::string line;
      std::getline(sent, line);
      EXPECT_EQ(message["text"], line);
      ++n_said;
    }
    EXPECT_GE(n_said, static_cast<std::size_t>(std::count(out.begin(), out.end(), '\n')));
    const Finished after =
        run(home, {"chat", "--chat", "killed", "--prompt", "Thank you.", "--json"});
    EXPECT_EQ(after.exit_code, 0) << after.err;
    EXPECT_EQ(messages(home, "killed").size(), kept.size() + 2);
  }
}

TEST(Interrupt, ctrl_c_ends_a_piped_chat_and_keeps_what_was_said) {
  const Folder home;
  Running running(home, {"chat", "--chat", "stopped", "--quiet"});
  running.write(many_turns(heldout(5)));
  const std::string out = running.read_more(100);
  running.signal(SIGINT);
  EXPECT_EQ(running.wait(), 130);
  // The answer that Ctrl-C cut short is the last.
  expect_acknowledged(out, messages(home, "stopped"));
}

TEST(Reread, json_says_why_and_how_much_and_nothing_of_new_text) {
  const Folder home;
  const auto notes = heldout(7);
  const auto ask = [&](const char* recipe) {
    return run(home, {"chat", "--chat", "n", "--recipe", recipe, "--prompt", questions(notes)[0],
                      "--json"})
        .json();
  };
  ASSERT_EQ(
      run(home, {"chat", "--chat", "n", "--recipe", "compact"}, one_line(notes) + "\n").exit_code,
      0);
  EXPECT_EQ(ask("compact")["reread"], nlohmann::json::array());
  const nlohmann::json other = ask("full");
  ASSERT_EQ(other["reread"].size(), 1u) << other;
  EXPECT_EQ(other["reread"][0]["reason"], "other_recipe");
  EXPECT_GT(other["reread"][0]["tokens"], other["read_tokens"]) << "the chat, not the question";
  EXPECT_EQ(ask("full")["reread"], nlohmann::json::array());
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
  const Finished after = run(home, chat, questions(notes)[0] + "\n");
  EXPECT_EQ(after.exit_code, 0) << after.err;
  EXPECT_EQ(after.err.find("Resumed"), std::string::npos) << after.err;
  EXPECT_NE(after.err.find("again"), std::string::npos) << after.err;
}

}  // namespace
}  // namespace satchel::test
