// `satchel eval recall`: what is asked, judged, counted and written. What the model says is its
// own affair, but for one test; the others hold whatever it says against what is reported of it.
#include <gtest/gtest.h>

#include <cmath>
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
    more.insert(more.begin(), {"eval", "recall", questions, "--recipes", "balanced"});
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
    EXPECT_EQ(each["recall"], each["right"].get<bool>() ? 1 : 0);
    auto& [n_questions, n_right] = expected[{each["set"], each["kind"]}];
    ++n_questions;
    n_right += each["right"].get<bool>() ? 1 : 0;
  }
  double n_right = 0;
  for (const Json& set : counted["sets"])
    for (const Json& kind : set["kinds"]) {
      const auto& [of, right] = expected.at({set["set"], kind["kind"]});
      EXPECT_EQ(kind["n"], of);
      EXPECT_NEAR(kind["recall"].get<double>(), double(right) / of, 1e-12);
      n_right += right;
    }
  ASSERT_EQ(counted["sets"].size(), 2u);
  EXPECT_EQ(counted["sets"][0]["set"], "one");  // in order of first appearance
  EXPECT_EQ(counted["sets"][0]["items"], 2);
  EXPECT_EQ(counted["sets"][0]["n"], 3);
  EXPECT_EQ(counted["sets"][0]["kinds"][0]["n"], 2);
  EXPECT_EQ(counted["sets"][0]["kinds"][1]["kind"], "unknown");
  EXPECT_EQ(counted["sets"][1]["set"], "two");
  EXPECT_EQ(counted["items"], 3);
  EXPECT_EQ(counted["n"], 4);
  EXPECT_NEAR(counted["recall"].get<double>(), n_right / 4, 1e-12);
  EXPECT_EQ(answers[1]["ask"], "Who is Ada?");
  EXPECT_EQ(answers[1]["item"], "0");
  EXPECT_EQ(answers[3]["item"], "2");
  // What was said in between is in the chat.
  EXPECT_GT(answers[2]["context_tokens"].get<int>(), answers[0]["context_tokens"].get<int>() + 10);
  EXPECT_EQ(answers[0]["context_tokens"], answers[3]["context_tokens"]);
}

TEST_F(Recall, an_answer_with_the_value_is_right_and_one_without_is_wrong) {
  const auto questions = [&](const std::string& value) {
    return file({conversation("", {ask("Where does Ada live?", "", value)})});
  };
  EXPECT_EQ(row(questions(kNeverSaid), {"--answers", sheet()})["recall"], 0);
  const auto said = lines_of(sheet()).at(0)["answer"].get<std::string>();
  ASSERT_GT(said.size(), 2u);
  EXPECT_EQ(row(questions(said.substr(1, said.size() - 2)))["recall"], 1);
}

TEST_F(Recall, without_notes_asks_the_same_and_reads_nothing_first) {
  const std::string questions =
      file({conversation("one", {ask("Where does Ada live?"), ask("Who is Ada?")})});
  const Json with = row(questions, {"--answers", sheet()});
  const std::vector<Json> read = lines_of(sheet());
  const Json without = row(questions, {"--answers", sheet(), "--without-notes"});
  const std::vector<Json> guessed = lines_of(sheet());
  EXPECT_GT(with["tokens"], 20);
  EXPECT_EQ(without["tokens"], 0);
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
    more.insert(more.begin(), {"eval", "recall", "--recipes", "full", "--sets", kHeldOutSet,
                               "--conversations", "20", "--json"});
    const Finished finished = run(home_, more);
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    const Json counted = finished.json()["rows"][0];
    EXPECT_EQ(counted["n"], 100);
    return std::lround(100 * counted["recall"].get<double>());
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
  EXPECT_EQ(chosen["items"], 3);
  ASSERT_EQ(chosen["sets"].size(), 2u);
  EXPECT_EQ(chosen["sets"][0]["n"], 2);
  EXPECT_EQ(row(questions, {"--conversations", "1"})["items"], 3);  // one of each set

  const std::string text = eval(questions, {"--sets", "names,lists"}).out;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4) << text;  // with the head
  EXPECT_NE(text.find("\n  names "), std::string::npos) << text;
  EXPECT_NE(text.find("\n  lists "), std::string::npos) << text;
  const std::string one = eval(questions, {"--sets", "about"}).out;
  EXPECT_EQ(std::count(one.begin(), one.end(), '\n'), 2) << one;

  const Finished unknown = eval(questions, {"--sets", "nmaes"});
  EXPECT_EQ(unknown.exit_code, 2);
  EXPECT_NE(unknown.err.find("\"nmaes\""), std::string::npos) << unknown.err;
}

// The question is packed with the notes, so more was held than when it was not there yet.
TEST_F(Recall, a_known_question_is_read_with_the_notes_and_answered) {
  const std::string questions = file({conversation(
      "",
      {{{"say", "Also: Bela lives in Riga."}}, ask("Where does Ada live?"), ask("Who is Ada?")})});
  const Json unknown = row(questions, {"--answers", sheet()});
  const Json known = row(questions, {"--answers", sheet(), "--question", "known"});
  const std::vector<Json> answers = lines_of(sheet());
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(known["n"], unknown["n"]);
  EXPECT_GT(known["tokens"].get<int>(), 2 * unknown["tokens"].get<int>());  // once per question
  EXPECT_EQ(known["tokens"].get<int>() + 2,
            answers[0]["context_tokens"].get<int>() + answers[1]["context_tokens"].get<int>());
  EXPECT_NE(answers[0]["answer"], "");
  EXPECT_EQ(eval(questions, {"--question", "perhaps"}).exit_code, 2);
}

// Without compression it makes no difference when a question was known.
TEST_F(Recall, with_the_exact_cache_a_first_question_is_answered_alike_known_or_not) {
  const std::string questions = file({conversation("", {ask("Where does Ada live?")})});
  const auto said = [&](const std::string& question) {
    EXPECT_EQ(run(home_, {"eval", "recall", questions, "--recipes", "full", "--question", question,
                          "--answers", sheet(), "--quiet"})
                  .exit_code,
              0);
    return lines_of(sheet()).at(0)["answer"].get<std::string>();
  };
  EXPECT_EQ(said("known"), said("unknown"));
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
  EXPECT_EQ(counted["n"], 3);
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
      {"{\"notes\": \"cut", "is not a JSON object"},
      {R"({"exchanges": []})", "has no \"notes\""},
      {R"({"notes": "N", "questions": []})", "has no \"exchanges\""},
      {R"({"notes": "N", "set": 3, "exchanges": []})", "has a \"set\" that is not text"},
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
  const Finished failed = run(home_, {"eval", "recall", questions, "--recipes",
                                      "full,no-such-recipe", "--answers", sheet()});
  EXPECT_NE(failed.exit_code, 0);
  std::stringstream kept;
  kept << std::ifstream(sheet()).rdbuf();
  EXPECT_EQ(kept.str(), "earlier\n");
  for (const auto& entry : std::filesystem::directory_iterator(home_.path()))
    EXPECT_NE(entry.path().extension(), ".part") << entry.path();
}

}  // namespace
}  // namespace satchel::test
