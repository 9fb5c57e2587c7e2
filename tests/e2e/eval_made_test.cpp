// `satchel eval needle`, `chat`, `live` and `book` on texts that are made, notes read in one chat,
// and `satchel eval longbench`.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>

#include "process.h"
#include "support/bundled_model.h"
#include "support/source_dir.h"

namespace satchel::test {
namespace {

using Json = nlohmann::json;

const std::string kSample = test::source_dir() + "/docs/samples/longbench.jsonl";

class EvalMade : public testing::Test {
 protected:
  Json rows(Arguments arguments) {
    arguments.insert(arguments.begin(), "eval");
    arguments.insert(arguments.end(), {"--json", "--answers", sheet_});
    const Finished finished = run(home_, arguments);
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    const Json json = finished.json();
    return json.is_object() ? json["rows"] : Json::array();
  }
  std::vector<Json> answers() const {
    std::ifstream in(sheet_);
    std::vector<Json> lines;
    for (std::string line; std::getline(in, line);) lines.push_back(Json::parse(line));
    return lines;
  }
  Json error(const Arguments& arguments, int exit_code) {
    const Finished finished = run(home_, arguments);
    EXPECT_EQ(finished.exit_code, exit_code) << finished.out;
    return finished.json()["error"];
  }

  const Folder home_;
  const std::string sheet_ = (home_.path() / "answers.jsonl").string();
};

TEST_F(EvalMade, needles_are_made_to_length_and_the_same_for_the_same_seed) {
  const Arguments command = {"needle",     "--families", "names,several-turns", "--length", "450",
                             "--contexts", "1",          "--recipes",           "extreme"};
  const Json first = rows(command);
  ASSERT_EQ(first.size(), 1u);
  ASSERT_EQ(first[0]["sets"].size(), 2u);
  EXPECT_EQ(first[0]["sets"][0]["set"], "names-450");
  EXPECT_EQ(first[0]["sets"][1]["set"], "several-turns-450");
  const std::vector<Json> asked = answers();
  EXPECT_EQ(asked.size(), 2u * 8u);
  rows(command);
  EXPECT_EQ(answers(), asked);
  rows({"needle", "--families", "names", "--length", "450", "--contexts", "1", "--recipes", "full",
        "--seed", "2", "--question", "known"});
  EXPECT_NE(answers()[0]["ask"], asked[0]["ask"]);
}

TEST_F(EvalMade, needles_refuse_what_cannot_be_made) {
  EXPECT_EQ(error({"eval", "needle", "--families", "riddles", "--json"}, 2)["code"], "PARAM");
  EXPECT_EQ(error({"eval", "needle", "--length", "9999999", "--json"}, 2)["code"], "CONTEXT_FULL");
  EXPECT_EQ(error({"eval", "needle", "--length", "30", "--json"}, 2)["code"], "PARAM");
}

TEST_F(EvalMade, one_text_is_asked_five_times_and_what_the_later_questions_lose_is_said) {
  Arguments command = {"scbench", "--length", "1000", "--contexts", "1", "--recipes", "extreme"};
  const Json all = rows(command);
  ASSERT_EQ(all.size(), 2u) << "the full cache is measured beside";
  EXPECT_EQ(all[0]["recipe"], "full");
  ASSERT_EQ(all[1]["sets"].size(), 8u) << "four abilities, two modes";
  const std::vector<Json> asked = answers();
  EXPECT_EQ(asked.size(), 2u * 8u * 5u);
  std::set<std::string> names;
  for (std::size_t i = 0; i < 8; ++i) {
    const Json& set = all[1]["sets"][i];
    names.insert(set["set"]);
    double first = 0, later = 0;
    for (const Json& answer : asked)
      if (answer["recipe"] == "extreme" && answer["set"] == set["set"])
        (answer["question"] == 1 ? first : later) += answer["recall"].get<double>();
    EXPECT_NEAR(set["first"].get<double>(), first, 1e-9) << set;
    EXPECT_NEAR(set["later"].get<double>(), later / 4, 1e-9) << set;
    EXPECT_NEAR(set["drop"].get<double>(), first - later / 4, 1e-9) << set;
    EXPECT_EQ(set["full_later"], all[0]["sets"][i]["later"]) << set;
  }
  EXPECT_TRUE(names.contains("string, turns") && names.contains("mixed, requests"));
  const Finished text =
      run(home_, {"eval", "scbench", "--length", "1000", "--contexts", "1", "--recipes", "full",
                  "--abilities", "string", "--modes", "requests", "--questions", "3"});
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("questions 2-3"), text.out.npos) << text.out;
}

TEST_F(EvalMade, one_text_of_your_own_wants_two_questions) {
  const auto one = home_.write(
      "one.jsonl", R"({"context": "A.", "questions": [{"ask": "Who?", "value": "a"}]})");
  const Json refused = error({"eval", "scbench", "--file", one.string(), "--json"}, 2);
  EXPECT_EQ(refused["code"], "PARAM");
  const auto two = home_.write(
      "two.jsonl",
      R"({"ability": "dates", "context": "A is b.", "questions": [{"ask": " A is", "value": "b"}, )"
      R"({"ask": " So A is", "value": "b"}]})");
  const Json all = rows({"scbench", "--file", two.string(), "--recipes", "full"});
  EXPECT_EQ(all[0]["sets"][0]["set"], "dates, turns");
  const Finished riddles = run(home_, {"eval", "scbench", "--abilities", "riddles"});
  EXPECT_EQ(riddles.exit_code, 2);
  EXPECT_NE(riddles.err.find("riddles not in"), std::string::npos) << riddles.err;
}

TEST_F(EvalMade, a_chat_is_asked_by_age_and_beyond_the_context_it_rolls_or_stops) {
  Arguments command = {"chat",        "--messages", "40",        "--chats",     "2",
                       "--questions", "2",          "--recipes", "full,extreme"};
  const Json all = rows(command);
  ASSERT_EQ(all.size(), 2u);
  const std::vector<Json> asked = answers();
  EXPECT_EQ(all[0]["sets"][0]["set"], "notes-40");
  EXPECT_EQ(2 * all[0]["n"].get<std::size_t>(), asked.size());
  ASSERT_EQ(all[0]["kinds"].size(), 3u);
  EXPECT_EQ(all[0]["kinds"][0]["kind"], "last 10");
  EXPECT_EQ(all[0]["kinds"][1]["kind"], "last 50");
  EXPECT_EQ(all[0]["kinds"][2]["kind"], "absent");
  for (const Json& answer : asked) EXPECT_EQ(answer["dropped_messages"], 0);

  command.insert(command.end(), {"--context", "400"});
  const Json rolled = rows(command);
  EXPECT_LT(rolled[0]["tokens"], all[0]["tokens"]);
  EXPECT_EQ(rolled[0]["cut"], 0);
  for (const Json& answer : answers()) EXPECT_GT(answer["dropped_messages"], 0);

  command.insert(command.end(), {"--beyond", "stops"});
  const Json stopped = rows(command);
  EXPECT_EQ(stopped[0]["cut"], stopped[0]["n"]);
  EXPECT_EQ(stopped[0]["recall"], 0);
}

TEST_F(EvalMade, every_way_to_hold_a_chat_comes_near_the_bytes_that_it_may_hold) {
  const std::vector<std::pair<std::string, std::string>> ways = {
      {"rolling", "full"}, {"sinks", "full"}, {"epicache", "snapkv"}, {"episodes", "satchel"}};
  for (const auto& [beyond, recipe] : ways) {
    const Json row = rows({"chat", "--messages", "120", "--chats", "1", "--questions", "1",
                           "--recipes", recipe, "--beyond", beyond, "--held", "0.25"})[0];
    EXPECT_NEAR(row["held"].get<double>(), 0.25, 0.02) << beyond;
    EXPECT_EQ(row["cut"], 0) << beyond;
    const bool drops = beyond == "rolling" || beyond == "sinks";
    for (const Json& answer : answers()) EXPECT_EQ(answer["dropped_messages"] > 0, drops) << beyond;
  }
}

TEST_F(EvalMade, a_chat_that_cannot_be_is_refused) {
  EXPECT_EQ(error({"eval", "chat", "--context", "9999999", "--json"}, 2)["code"], "CONTEXT_FULL");
  const auto path = home_.write("chats.json", "[]").string();
  const Json found = error({"eval", "chat", "--file", path, "--json"}, 4);
  EXPECT_EQ(found["code"], "DOC_FORMAT");
  EXPECT_NE(found["message"].get<std::string>().find(path + ": is neither LoCoMo"),
            std::string::npos);
  EXPECT_EQ(run(home_, {"eval", "chat", "--file", path, "--messages", "20"}).exit_code, 2);
  EXPECT_EQ(run(home_, {"eval", "chat", "--beyond", "never"}).exit_code, 2);
}

TEST_F(EvalMade, a_chat_held_live_comes_back_from_every_kill_with_the_same_answer) {
  const Finished finished = run(home_, {"eval", "live", "--messages", "60", "--row", "30", "--kill",
                                        "20", "--keep", "0.25", "--budget", "8MB", "--json"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const Json json = finished.json();
  ASSERT_EQ(json["rows"].size(), 2u);
  EXPECT_EQ(json["rows"][1]["messages"], 60);
  EXPECT_EQ(json["rows"][0]["asked"].get<int>() + json["rows"][1]["asked"].get<int>(), 5);
  EXPECT_GE(json["rows"][0]["right"].get<int>() + json["rows"][1]["right"].get<int>(), 3);
  EXPECT_LE(json["rows"][1]["used_bytes"], 8'000'000);
  EXPECT_GT(json["rows"][1]["disk_bytes"], json["rows"][1]["kv_bytes"]);
  ASSERT_EQ(json["resumes"].size(), 2u);
  for (const Json& resume : json["resumes"]) {
    EXPECT_EQ(resume["lost"], 0);
    EXPECT_FALSE(resume["answer"].get<std::string>().empty());
    EXPECT_EQ(resume["answer_there"], resume["answer"]);
    EXPECT_GT(resume["reused"], 0);
  }
}

TEST_F(EvalMade, a_book_is_read_in_parts_and_the_part_with_the_fact_is_found) {
  const Finished finished =
      run(home_, {"eval", "book", "--abilities", "notes", "--length", "4000", "--questions", "20",
                  "--recipe", "full", "--budget", "128MB", "--json"});
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const Json json = finished.json();
  EXPECT_GT(json["tokens"], 2048) << "longer than the context";
  EXPECT_GE(json["parts"], 3);
  EXPECT_GT(json["first_part_ms"], 0);
  EXPECT_LT(json["first_part_ms"], json["read_ms"]);
  EXPECT_EQ(json["reread"], 0);
  EXPECT_EQ(json["answers"].size(), 20u);
  EXPECT_EQ(json["in_reach"], 20);
  EXPECT_GE(json["right"], 5);
}

TEST_F(EvalMade, notes_read_together_are_asked_beside_each_alone) {
  const Arguments command = {"recall", "--sets",    "names-2048", "--conversations",
                             "2",      "--recipes", "full",       "--together"};
  Arguments two = command;
  two.push_back("2");
  const Json all = rows(two);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0]["sets"][0]["set"], "names-2048 x 2");
  EXPECT_GT(all[0]["tokens"], 2048);
  EXPECT_GE(all[0]["alone"], 0.8);
  EXPECT_GE(all[0]["recall"], 0.7);
  EXPECT_EQ(answers().size(), all[0]["n"]);
  Arguments three = {"eval"};
  three.insert(three.end(), command.begin(), command.end());
  three.insert(three.end(), {"3", "--json"});
  EXPECT_EQ(error(three, 2)["code"], "PARAM");
}

TEST_F(EvalMade, longbench_scores_each_dataset_of_a_file) {
  const Json all = rows({"longbench", kSample, "--recipes", "full,compact"});
  ASSERT_EQ(all.size(), 2u);
  const std::vector<Json> said = answers();
  for (std::size_t i = 0; i < 2; ++i) {
    std::map<std::string, double> sums;
    std::map<std::string, int> n;
    for (const Json& answer : said) {
      if (answer["recipe"] != all[i]["recipe"]) continue;
      sums[answer["set"]] += answer["score"].get<double>();
      ++n[answer["set"]];
    }
    ASSERT_EQ(all[i]["sets"].size(), 5u);
    ASSERT_EQ(n.size(), 5u);
    for (const Json& set : all[i]["sets"])
      EXPECT_NEAR(set["score"].get<double>(), sums[set["set"]] / n[set["set"]], 1e-9) << set;
  }
  // Some characters of the code are right by chance.
  EXPECT_GT(all[0]["score"].get<double>(), 0);
  const Json known_not = rows({"longbench", kSample, "--recipes", "full", "--question", "unknown",
                               "--examples", "1", "--length", "60"});
  EXPECT_EQ(answers().size(), 1u);
  EXPECT_EQ(answers()[0]["prompt_cut"], true);
}

TEST_F(EvalMade, longbench_names_a_bad_line_with_what_it_lacks) {
  const std::pair<std::string, std::string> bad[] = {
      {R"({"context": "C", "answers": ["A"], "dataset": "riddles"})",
       "names \"riddles\", which is not a dataset of LongBench"},
      {R"({"context": "C", "answers": ["A"]})",
       "names \"bad\", which is not a dataset of LongBench"},
      {R"({"answers": ["A"], "dataset": "qasper"})", "has no \"context\""},
      {R"({"context": "C", "dataset": "qasper"})", "has no \"answers\""},
      {R"({"context": "C", "answers": [], "dataset": "qasper"})", "has no answer"},
      {R"({"context": "C", "answers": [3], "dataset": "qasper"})",
       "has something in \"answers\" that is not text"},
      {R"({"context": "C", "answers": ["A"], "dataset": "trec", "all_classes": null})",
       "has no \"all_classes\""},
  };
  for (const auto& [line, lack] : bad) {
    const auto path = home_.write("bad.jsonl", line + "\n").string();
    const Json found = error({"eval", "longbench", path, "--json"}, 4);
    EXPECT_EQ(found["code"], "DOC_FORMAT") << line;
    EXPECT_EQ(found["message"], path + ":1: " + lack + ".");
  }
}

}  // namespace
}  // namespace satchel::test
