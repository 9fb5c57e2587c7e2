// `satchel eval needle`, agreement and pareto: what is read, asked, counted, refused and written;
// and what the sample file promises.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "process.h"
#include "support/bundled_model.h"
#include "support/source_dir.h"

namespace satchel::test {
namespace {

using Json = nlohmann::json;

const std::string kSample = test::source_dir() + "/docs/samples/needles.jsonl";

std::vector<Json> lines_of(const std::string& path) {
  std::ifstream in(path);
  std::vector<Json> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(Json::parse(line));
  return lines;
}

std::size_t n_times(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

class Needles : public testing::Test {
 protected:
  // 400 tokens or so: enough for a recipe to evict from.
  static Json context() {
    std::string text = "A man called Carl Corwin came to the door.";
    for (int i = 0; i < 40; ++i) text += " The path goes along the wall and up the hill.";
    return {{"context", text},
            {"questions",
             {{{"ask", "\n\nThe full name of Carl is Carl"}, {"value", "Corwin"}},
              {{"ask", "\n\nThe path goes along"}, {"value", "the"}}}}};
  }
  std::string file(const std::vector<Json>& contexts) {
    std::string lines;
    for (const Json& each : contexts) lines += each.dump() + "\n";
    return home_.write("needles.jsonl", lines).string();
  }
  Json rows(Arguments arguments) {
    arguments.insert(arguments.begin(), "eval");
    arguments.push_back("--json");
    const Finished finished = run(home_, arguments);
    EXPECT_EQ(finished.exit_code, 0) << finished.err;
    const Json json = finished.json();
    return json.is_object() ? json["rows"] : Json::array();
  }
  std::string sheet() const { return (home_.path() / "answers.jsonl").string(); }

  const Folder home_;
};

TEST_F(Needles, every_recipe_is_measured_at_every_share_and_what_evicts_nothing_once) {
  const Json all = rows({"needle", "--file", file({context(), context()}), "--recipes",
                         "full,minikv", "--keep", "0.5,0.25", "--answers", sheet()});
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0]["recipe"], "full");
  EXPECT_EQ(all[0]["keep"], 1);
  EXPECT_EQ(all[0]["kept"], 1);
  EXPECT_EQ(all[1]["recipe"], "minikv");
  EXPECT_EQ(all[1]["keep"], 0.5);
  EXPECT_EQ(all[2]["keep"], 0.25);
  EXPECT_LT(all[1]["kept"], 1);
  EXPECT_LT(all[2]["kept"], all[1]["kept"]);
  const std::vector<Json> answers = lines_of(sheet());
  ASSERT_EQ(answers.size(), 12u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(all[i]["n"], 4);
    EXPECT_EQ(all[i]["items"], 2);
    int n_right = 0;
    double likely = 0;
    for (std::size_t j = 0; j < 4; ++j) {
      const Json& answer = answers[4 * i + j];
      EXPECT_EQ(answer["recipe"], all[i]["recipe"]);
      EXPECT_EQ(answer["keep"], all[i]["keep"]);
      EXPECT_EQ(answer["item"], std::to_string(j / 2));
      EXPECT_EQ(answer["value"], j % 2 == 0 ? "Corwin" : "the");
      n_right += answer["right"].get<bool>() ? 1 : 0;
      EXPECT_LT(answer["log_probability"], 0);
      likely += answer["log_probability"].get<double>() / 4;
    }
    EXPECT_EQ(all[i]["recall"], n_right / 4.0);
    EXPECT_NEAR(all[i]["log_probability"].get<double>(), likely, 1e-9);
    EXPECT_EQ(all[i]["tokens"], all[0]["tokens"]);
    EXPECT_GT(all[i]["read_ms"], 0);
    EXPECT_GT(all[i]["answer_ms"], 0);
    EXPECT_NEAR(all[i]["kv_saved"].get<double>(),
                1 - all[i]["kv_bytes"].get<double>() / all[i]["kv_bytes_fp16"].get<double>(), 1e-9);
  }
  const Json guessed =
      rows({"needle", "--file", file({context()}), "--recipes", "full", "--without-notes"});
  EXPECT_EQ(guessed[0]["tokens"], 0);
}

TEST_F(Needles, agreement_is_given_by_text_and_by_position) {
  const std::string one = home_.write("one.txt", context()["context"].get<std::string>()).string();
  const std::string two = home_.write("two.txt", context()["context"].get<std::string>() + " End.");
  const Arguments measured = {
      "agreement",       "--text", one,         "--text",     two,      "--tokens", "400",
      "--prompt-tokens", "300",    "--recipes", "full,kvzip", "--keep", "0.25"};
  const Json all = rows(measured);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0]["agreement"], 1);
  EXPECT_EQ(all[0]["kl_nats"], 0);
  EXPECT_EQ(all[0]["nll_packed"], all[0]["nll_exact"]);
  EXPECT_GT(all[1]["kl_nats"], 0);
  EXPECT_GT(all[1]["kl_nats_se"], 0);
  EXPECT_EQ(all[1]["nll_exact"], all[0]["nll_exact"]);
  for (const Json& row : all) {
    EXPECT_EQ(row["n"], 200);
    EXPECT_EQ(row["tokens"], 600);  // the prompts, as packed
    ASSERT_EQ(row["sets"].size(), 2u);
    EXPECT_EQ(row["sets"][0]["set"], "one");
    ASSERT_EQ(row["kinds"].size(), 2u);
    EXPECT_EQ(row["kinds"][0]["kind"], "1-64");
    EXPECT_EQ(row["kinds"][0]["n"], 128);
    EXPECT_EQ(row["kinds"][1]["kind"], "65-100");
  }
  Arguments shown = measured;
  shown.insert(shown.begin(), "eval");
  EXPECT_NE(run(home_, shown).out.find("kl_nats by position"), std::string::npos);
  EXPECT_EQ(run(home_, {"eval", "agreement", "--text", one, "--tokens", "4000"}).exit_code, 2);
  EXPECT_EQ(
      run(home_, {"eval", "agreement", "--text", one, "--tokens", "9", "--prompt-tokens", "9"})
          .exit_code,
      2);
}

TEST_F(Needles, a_sweep_gives_points_and_a_front_and_goes_on_from_its_log) {
  const std::string log = (home_.path() / "sweep.log").string();
  const Arguments sweep = {
      "eval",       "pareto", "--tasks",  "needle", "--needles", file({context()}), "--recipes",
      "full,kvzip", "--keep", "0.5,0.25", "--log",  log,         "--json"};
  const Finished finished = run(home_, sweep);
  ASSERT_EQ(finished.exit_code, 0) << finished.err;
  const Json json = finished.json();
  ASSERT_EQ(json["points"].size(), 3u);
  bool any_front = false;
  for (const Json& point : json["points"]) {
    EXPECT_EQ(point["task"], "needle");
    EXPECT_NEAR(point["kv_share"].get<double>(),
                point["kv_bytes"].get<double>() / point["kv_bytes_fp16"].get<double>(), 1e-12);
    any_front |= point["front"].get<bool>();
  }
  EXPECT_TRUE(any_front);
  EXPECT_LT(json["points"][2]["kv_share"], json["points"][1]["kv_share"]);
  ASSERT_EQ(json["panels"].size(), 1u);
  EXPECT_EQ(json["panels"][0]["task"], "needle");
  EXPECT_EQ(json["panels"][0]["measure"], json["points"][0]["measure"]);
  EXPECT_EQ(lines_of(log).size(), 3u);
  EXPECT_EQ(run(home_, sweep).out,
            finished.out);  // every figure, times too: nothing is measured again
  EXPECT_EQ(lines_of(log).size(), 3u);
  EXPECT_EQ(run(home_, {"eval", "pareto", "--tasks", "longbench"}).exit_code, 2);
  EXPECT_EQ(run(home_, {"eval", "pareto", "--tasks", "agreement"}).exit_code, 2);
}

// With the slow back end, so that the signal comes while the second of three contexts is read.
TEST_F(Needles, ctrl_c_ends_a_run_that_goes_on_where_it_was) {
  const std::string log = (home_.path() / "stopped.log").string();
  std::vector<Json> contexts;
  for (int i = 0; i < 3; ++i) {
    contexts.push_back(context());
    contexts.back()["context"] =
        std::to_string(i) + context()["context"].get<std::string>().substr(0, 400);
  }
  const Arguments command = {"eval",  "needle", "--file",    file(contexts), "--recipes", "full",
                             "--log", log,      "--backend", "reference",    "--json"};
  Running running(home_, command);
  const auto measured = [&] {
    std::stringstream text;
    text << std::ifstream(log).rdbuf();
    return n_times(text.str(), "\n");
  };
  while (measured() == 0) std::this_thread::yield();
  running.signal(SIGINT);
  const Json stopped = Json::parse(running.read_until("}}"));
  EXPECT_EQ(running.wait(), 130);
  EXPECT_EQ(stopped["error"]["code"], "STOPPED");
  const std::size_t n_before = measured();
  EXPECT_LT(n_before, 3u);
  const Finished went_on = run(home_, command);
  EXPECT_EQ(went_on.exit_code, 0) << went_on.err;
  EXPECT_EQ(went_on.json()["rows"][0]["items"], 3);
  EXPECT_EQ(measured(), 3u);
}

TEST_F(Needles, a_bad_line_is_named_with_what_it_lacks) {
  const std::string good = context().dump();
  const std::pair<std::string, std::string> bad[] = {
      {"{\"context\": \"cut", "is not a JSON object"},
      {"[]", "is not a JSON object"},
      {R"({"questions": []})", "has no \"context\""},
      {R"({"context": 3, "questions": []})", "has a \"context\" that is not text"},
      {R"({"context": "", "questions": []})", "has an empty \"context\""},
      {R"({"context": "C"})", "has no \"questions\""},
      {R"({"context": "C", "questions": {}})", "has no \"questions\""},
      {R"({"context": "C", "questions": []})", "has no questions"},
      {R"({"context": "C", "questions": ["Q"]})", "question 1 is not a JSON object"},
      {R"({"context": "C", "questions": [{"ask": "A", "value": "V"}, {"ask": "A"}]})",
       "question 2 has no \"value\""},
      {R"({"context": "C", "questions": [{"ask": "", "value": "V"}]})",
       "question 1 has an empty \"ask\""},
  };
  for (const auto& [line, lack] : bad) {
    const auto path = home_.write("bad.jsonl", good + "\n" + line + "\n" + good + "\n").string();
    const Finished finished = run(home_, {"eval", "needle", "--file", path, "--json"});
    EXPECT_EQ(finished.exit_code, 4) << line;
    const Json error = finished.json()["error"];
    EXPECT_EQ(error["code"], "DOC_FORMAT") << line;
    EXPECT_EQ(error["message"], path + ":2: " + lack + ".");
  }
  EXPECT_EQ(run(home_, {"eval", "needle", "--file", home_.write("none", "").string()}).exit_code,
            4);
  EXPECT_EQ(run(home_, {"eval", "needle", "--file", "no-such-file"}).exit_code, 3);
}

TEST(Prediction, of_a_prompt_s_cache_is_fitted_kept_and_measured_against_reading) {
  const Folder home;
  const std::string notes = test::source_dir() + "/docs/samples/notes.txt";
  const std::string maps = (home.path() / "maps").string();
  const Arguments fit = {"calibrate", "--kv-prediction", "5", "--from-hidden", "--output", maps};
  const Finished made = run(home, fit);
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_NE(made.out.find("5 of 6 layers predict the others"), std::string::npos) << made.out;
  EXPECT_NE(made.err.find("\"satchel eval prediction\""), std::string::npos) << made.err;
  const Arguments measure = {"eval",     "prediction", "--maps",          maps,  "--text", notes,
                             "--tokens", "400",        "--prompt-tokens", "360", "--json"};
  const Json rows = run(home, measure).json()["rows"];
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0]["way"], "all read");
  EXPECT_EQ(rows[0]["kl_nats"], 0);
  EXPECT_EQ(rows[1]["way"], "predicted, 5 of 6 layers, from hidden");
  EXPECT_EQ(rows[1]["compared_tokens"], 40);
  EXPECT_LT(rows[1]["kl_nats"], 0.02);
  EXPECT_EQ(rows[2]["way"], "as much of its end read");
  EXPECT_GT(rows[2]["kl_nats"], rows[1]["kl_nats"]);
  std::ofstream(maps, std::ios::app) << "more";
  const Finished damaged = run(home, measure);
  EXPECT_EQ(damaged.exit_code, 4);
  EXPECT_EQ(damaged.json()["error"]["code"], "KV_PREDICTION");
}

TEST(Prediction, without_a_file_or_of_all_layers_is_refused) {
  const Folder home;
  const std::string notes = test::source_dir() + "/docs/samples/notes.txt";
  EXPECT_EQ(run(home, {"calibrate", "--kv-prediction", "3"}).exit_code, 2);
  EXPECT_EQ(run(home, {"calibrate", "--spread"}).exit_code, 2);
  const std::string maps = (home.path() / "maps").string();
  const Finished all = run(home, {"calibrate", "--kv-prediction", "6", "--output", maps, "--json"});
  EXPECT_EQ(all.exit_code, 2);
  EXPECT_EQ(all.json()["error"]["code"], "PARAM") << all.err;
  EXPECT_FALSE(std::filesystem::exists(maps));
  EXPECT_EQ(run(home, {"eval", "prediction", "--maps", maps, "--text", notes}).exit_code, 3);
}

TEST_F(Needles, a_command_is_asked_for_and_shares_are_shares) {
  const std::string needles = file({context()});
  EXPECT_EQ(run(home_, {"eval"}).exit_code, 2);
  EXPECT_EQ(run(home_, {"eval", "longbench"}).exit_code, 2);
  EXPECT_EQ(run(home_, {"eval", "needle", "--file", needles, "--keep", "0.5,1.5"}).exit_code, 2);
  EXPECT_EQ(run(home_, {"eval", "needle", "--file", needles, "--log", needles}).exit_code, 4);
}

TEST(NeedlesSample, holds_every_name_once_so_that_nothing_else_in_a_context_answers) {
  const std::vector<Json> contexts = lines_of(kSample);
  EXPECT_EQ(contexts.size(), 11u);
  for (const Json& each : contexts) {
    const auto text = each["context"].get<std::string>();
    EXPECT_EQ(each["questions"].size(), 8u);
    std::set<std::string> names;
    for (const Json& question : each["questions"]) {
      const auto ask = question["ask"].get<std::string>();
      const auto first = ask.substr(ask.rfind(' ') + 1),
                 last = question["value"].get<std::string>();
      EXPECT_EQ(ask, "\n\nThe full name of " + first + " is " + first);
      EXPECT_EQ(n_times(text, first + " " + last), 1u) << first << " " << last;
      EXPECT_EQ(n_times(text, first), 1u) << first;
      EXPECT_EQ(n_times(text, last), 1u) << last;
      EXPECT_TRUE(names.insert(first).second && names.insert(last).second);
    }
  }
}

}  // namespace
}  // namespace satchel::test
