// `satchel eval --recall`: what is asked, judged, counted and written. What the model says is its
// own affair, but for one test; the others hold whatever it says against what is reported of it.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "process.h"
#include "support/bundled_model.h"

namespace satchel::test {
namespace {

using Json = nlohmann::json;

constexpr char kNotes[] =
    "Read these notes.\nThe code for the amber mill is 4711. Ada lives in Oslo.";
constexpr char kNeverSaid[] = "never said";

Json ask(const std::string& question, const std::string& kind = "fact",
         const std::string& value = kNeverSaid) {
  return {{"ask", question}, {"value", value}, {"kind", kind}};
}

Json conversation(const std::string& set, const std::vector<Json>& exchanges) {
  return {{"set", set}, {"notes", kNotes}, {"exchanges", exchanges}};
}

class Recall : public testing::Test {
 protected:
  std::string file(const std::vector<Json>& conversations) {
    std::string lines;
    for (const Json& each : conversations) lines += each.dump() + "\n";
    return home_.write("questions.jsonl", lines).string();
  }
  Finished eval(const std::string& questions, Arguments more = {"--json"}) {
    more.insert(more.begin(), {"eval", "--recall", questions, "--recipes", "balanced"});
    return run(home_, more);
  }
  Json row(const std::string& questions, Arguments more = {}) {
    more.push_back("--json");
    const Finished finished = eval(questions, more);
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    const Json json = finished.json();
    return json.is_object() ? json["rows"][0] : Json::object();
  }
  std::vector<Json> lines_of(const std::string& path) {
    std::ifstream in(path);
    std::vector<Json> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(Json::parse(line));
    return lines;
  }
  std::string sheet() const { return (home_.path() / "answers.jsonl").string(); }

  const Folder home_;
};

TEST_F(Recall, every_judged_question_is_counted_and_written) {
  const std::string questions =
      file({conversation("one", {ask("Where does Ada live?"), ask("Who is Ada?", "unknown")}),
            conversation("two", {{{"say", "Also: Bela lives in Riga."}, {"answer", "Noted."}},
                                 ask("Where does Ada live?", "fact", "a")}),
            conversation("one", {ask("Where does Ada live?", "fact", "a")})});
  const Json counted = row(questions, {"--answers", sheet()});
  const std::vector<Json> answers = lines_of(sheet());
  ASSERT_EQ(answers.size(), 4u);
  std::map<std::pair<std::string, std::string>, std::pair<int, int>> expected;
  for (const Json& each : answers) {
    EXPECT_EQ(each["recipe"], "balanced");
    const auto said = each["answer"].get<std::string>(), value = each["value"].get<std::string>();
    EXPECT_EQ(each["right"], said.find(value) != std::string::npos);
    auto& [n_questions, n_right] = expected[{each["set"], each["kind"]}];
    ++n_questions;
    n_right += each["right"].get<bool>() ? 1 : 0;
  }
  ASSERT_EQ(counted["groups"].size(), 3u);
  int n_right = 0;
  for (const Json& group : counted["groups"]) {
    const auto& [of, right] = expected.at({group["set"], group["kind"]});
    EXPECT_EQ(group["questions"], of);
    EXPECT_EQ(group["right"], right);
    n_right += right;
  }
  EXPECT_EQ(counted["groups"][0]["set"], "one");  // in order of first appearance
  EXPECT_EQ(counted["groups"][0]["questions"], 2);
  EXPECT_EQ(counted["groups"][1]["kind"], "unknown");
  EXPECT_EQ(counted["groups"][2]["set"], "two");
  EXPECT_EQ(counted["conversations"], 3);
  EXPECT_EQ(counted["questions"], 4);
  EXPECT_EQ(counted["right"], n_right);
  EXPECT_EQ(answers[1]["ask"], "Who is Ada?");
  EXPECT_EQ(answers[1]["conversation"], 0);
  EXPECT_EQ(answers[3]["conversation"], 2);
  // What was said in between is in the chat.
  EXPECT_GT(answers[2]["context_tokens"].get<int>(), answers[0]["context_tokens"].get<int>() + 10);
  EXPECT_EQ(answers[0]["context_tokens"], answers[3]["context_tokens"]);
}

TEST_F(Recall, an_answer_with_the_value_is_right_and_one_without_is_wrong) {
  const auto questions = [&](const std::string& value) {
    return file({conversation("", {ask("Where does Ada live?", "", value)})});
  };
  EXPECT_EQ(row(questions(kNeverSaid), {"--answers", sheet()})["right"], 0);
  const auto said = lines_of(sheet()).at(0)["answer"].get<std::string>();
  ASSERT_GT(said.size(), 2u);
  EXPECT_EQ(row(questions(said.substr(1, said.size() - 2)))["right"], 1);
}

TEST_F(Recall, without_notes_asks_the_same_and_reads_nothing_first) {
  const std::string questions =
      file({conversation("one", {ask("Where does Ada live?"), ask("Who is Ada?")})});
  const Json with = row(questions, {"--answers", sheet()});
  const std::vector<Json> read = lines_of(sheet());
  const Json without = row(questions, {"--answers", sheet(), "--without-notes"});
  const std::vector<Json> guessed = lines_of(sheet());
  EXPECT_EQ(with["notes_read"], true);
  EXPECT_GT(with["shortest_prompt_tokens"], 20);
  EXPECT_EQ(without["notes_read"], false);
  EXPECT_EQ(without["shortest_prompt_tokens"], 0);
  EXPECT_TRUE(without["kv_saved"].is_null());
  ASSERT_EQ(guessed.size(), read.size());
  for (std::size_t i = 0; i < read.size(); ++i) EXPECT_EQ(guessed[i]["ask"], read[i]["ask"]);
  EXPECT_LT(guessed[0]["context_tokens"].get<int>() + 20, read[0]["context_tokens"].get<int>());
}

// Names are held out from training, so nothing but the cache can hold the values. A guessed value
// is right one time in 14 at best: no kind of fact has fewer. Measured on 2026-11-21 (see
// models/notes-mini.md): 98 of these 100, and 0 without the notes.
TEST_F(Recall, the_bundled_model_finds_values_in_its_cache_and_nowhere_else) {
  const auto right = [&](Arguments more) {
    more.insert(more.begin(), {"eval", "--recall", kHeldOut, "--recipes", "full", "--sets",
                               kHeldOutSet, "--conversations", "20", "--json"});
    const Finished finished = run(home_, more);
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    const Json counted = finished.json()["rows"][0];
    EXPECT_EQ(counted["questions"], 100);
    return counted["right"].get<int>();
  };
  EXPECT_GE(right({}), 90);
  EXPECT_LE(right({"--without-notes"}), 7);
}

TEST_F(Recall, sets_are_chosen_limited_and_shown_each_on_its_line) {
  std::vector<Json> all;
  for (const char* set : {"names", "lists", "names", "about"})
    all.push_back(conversation(set, {ask("Where does Ada live?")}));
  const std::string questions = file(all);
  const Json chosen = row(questions, {"--sets", "names,about"});
  EXPECT_EQ(chosen["conversations"], 3);
  ASSERT_EQ(chosen["groups"].size(), 2u);
  EXPECT_EQ(chosen["groups"][0]["questions"], 2);
  EXPECT_EQ(row(questions, {"--conversations", "1"})["conversations"], 3);  // one of each set

  const std::string text = eval(questions, {"--sets", "names,lists"}).out;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << text;
  EXPECT_NE(text.find("\n  names "), std::string::npos) << text;
  EXPECT_NE(text.find("\n  lists "), std::string::npos) << text;
  const std::string one = eval(questions, {"--sets", "about"}).out;
  EXPECT_EQ(std::count(one.begin(), one.end(), '\n'), 1) << one;

  const Finished unknown = eval(questions, {"--sets", "nmaes"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.err.find("\"nmaes\""), std::string::npos) << unknown.err;
}

TEST_F(Recall, a_full_context_makes_a_question_wrong_and_is_counted) {
  std::string long_text;
  for (int i = 0; i < 20'000; ++i) long_text += "word ";
  Json long_notes = conversation("", {ask("Where does Ada live?", "", "a")});
  long_notes["notes"] = long_text;
  const std::string questions =
      file({conversation("", {{{"say", long_text}}, ask("Where does Ada live?", "", "a")}),
            conversation("", {ask("Where does Ada live?")}), long_notes});
  const Json counted = row(questions, {"--answers", sheet()});
  EXPECT_EQ(counted["questions"], 3);
  EXPECT_EQ(counted["cut"], 2);
  EXPECT_EQ(lines_of(sheet()).at(0)["right"], false);
  EXPECT_EQ(lines_of(sheet()).at(0)["answer"], "");
  EXPECT_NE(lines_of(sheet()).at(1)["answer"], "");
  EXPECT_EQ(lines_of(sheet()).at(2)["right"], false);
  EXPECT_EQ(lines_of(sheet()).at(2)["answer"], "");
}

TEST_F(Recall, a_bad_line_is_named_with_what_it_lacks) {
  const std::string good = conversation("", {ask("Where?")}).dump();
  const std::pair<std::string, std::string> bad[] = {
      {"{\"notes\": \"cut", "is no JSON object"},
      {R"({"exchanges": []})", "has no \"notes\""},
      {R"({"notes": "N", "questions": []})", "has no \"exchanges\""},
      {R"({"notes": "N", "set": 3, "exchanges": []})", "has a \"set\" that is no text"},
      {R"({"notes": "N", "exchanges": [{"answer": "A"}]})",
       R"(exchange 1 needs either "say" or "ask")"},
      {R"({"notes": "N", "exchanges": [{"say": "S"}, {"ask": "Q"}]})",
       "exchange 2 has no \"value\""},
      {R"({"notes": "N", "exchanges": [{"ask": "Q", "value": ""}]})",
       "exchange 1 has an empty \"value\""},
  };
  for (const auto& [line, lack] : bad) {
    const auto path = home_.write("bad.jsonl", good + "\n" + line + "\n" + good + "\n").string();
    const Finished finished = eval(path);
    EXPECT_EQ(finished.exit_code, 4) << line;
    const Json error = finished.json()["error"];
    EXPECT_EQ(error["code"], "DOC_FORMAT") << line;
    EXPECT_EQ(error["message"], path + ":2: " + lack + ".");
  }
  const auto silent = home_.write("silent.jsonl", R"({"notes": "N", "exchanges": [{"say": "S"}]})");
  EXPECT_EQ(eval(silent.string()).exit_code, 4);
}

TEST_F(Recall, answers_are_written_whole_or_not_at_all) {
  const std::string questions = file({conversation("", {ask("Where does Ada live?")})});
  EXPECT_EQ(eval(questions, {"--answers", (home_.path() / "no/such/folder").string()}).exit_code,
            7);
  EXPECT_EQ(eval(questions, {"--answers", home_.string()}).exit_code, 7);
  home_.write("answers.jsonl", "earlier\n");
  const Finished failed = run(home_, {"eval", "--recall", questions, "--recipes",
                                      "full,no-such-recipe", "--answers", sheet()});
  EXPECT_NE(failed.exit_code, 0);
  std::stringstream kept;
  kept << std::ifstream(sheet()).rdbuf();
  EXPECT_EQ(kept.str(), "earlier\n");
  EXPECT_FALSE(std::filesystem::exists(sheet() + ".part"));
  EXPECT_EQ(run(home_, {"eval", "--text", questions, "--answers", sheet()}).exit_code, 2);
}

}  // namespace
}  // namespace satchel::test
