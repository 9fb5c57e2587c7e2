// Units, their log and their rows, with a task that asks no model: a run that was stopped and goes
// on gives the rows of one that was not.
#include "app/eval/commands/runner.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "app/eval/commands/eta.h"
#include "app/eval/commands/rows.h"
#include "support/bundled_model.h"
#include "support/temp_folder.h"
#include "support/value_of.h"

namespace satchel::app {
namespace {
namespace fs = std::filesystem;

// Three texts of two sets. What is right follows from the text's number and the recipe's share.
class PlainTask final : public Task {
 public:
  PlainTask() { items_ = {{"one", "0", "text a"}, {"two", "1", "text b"}, {"one", "2", "c"}}; }
  std::string_view name() const override { return "plain"; }
  std::span<const Measure> measures() const override { return kMeasures; }
  Json settings() const override { return {{"option", option}}; }
  Result<void> prepare(runtime::Engine&) override { return {}; }
  Result<Measured> measure(runtime::Engine&, const kvcache::Recipe& recipe, std::size_t item,
                           std::stop_token) override {
    if (n_measured == stop_after) return Error{ErrorKind::cancelled, "STOPPED", "Stopped."};
    ++n_measured;
    const auto number = static_cast<double>(item + 1);
    Measured out;
    out.held = {.n_tokens = 10, .bytes = 40 * (item + 1), .fp16_bytes = 100 * (item + 1)};
    out.read_ms = 2.5;
    out.n_cut = item;
    for (std::size_t i = 0; i < 2; ++i)
      out.grades.push_back({.kind = i == 0 ? "fact" : "list",
                            .sums = {recipe.keep() < 1 && i > 0 ? 0.0 : 1.0, number},
                            .detail = {{"answer", "ä \"quoted\"\n"}}});
    return out;
  }

  std::size_t n_measured = 0, stop_after = 1000;
  int option = 1;

 private:
  static inline const std::array<Measure, 2> kMeasures = {
      Measure{.name = "right"}, Measure{.name = "number", .is_share = false}};
};

class Runner : public testing::Test {
 protected:
  Runner() {
    auto task = std::make_unique<PlainTask>();
    task_ = task.get();
    tasks_.push_back(std::move(task));
  }

  static runtime::Engine& engine() {
    runtime::EngineOptions options;
    options.model = test::kBundledModel;
    static const std::unique_ptr<runtime::Engine> one = value_of(runtime::Engine::open(options));
    return *one;
  }
  Result<std::vector<Record>> measure(EvalLog* log) {
    return measure_units({.engine = engine(),
                          .tasks = tasks_,
                          .variants = variants_,
                          .log = log,
                          .console = console_});
  }
  std::unique_ptr<EvalLog> open() { return value_of(EvalLog::open(log_path(), console_)); }
  std::string log_path() const { return (folder_ / "log.jsonl").string(); }
  std::string log_text() const {
    std::stringstream all;
    all << std::ifstream(log_path(), std::ios::binary).rdbuf();
    return all.str();
  }
  void write_log(const std::string& text) const {
    std::ofstream(log_path(), std::ios::binary) << text;
  }
  // Without what a clock said.
  std::string rows(std::span<const Record> records) {
    std::string text;
    for (const Row& row : rows_of(tasks_, variants_, records)) text += to_json(row).dump() + "\n";
    return text;
  }

  const test::TempFolder temp_;
  const fs::path folder_ = temp_.path();
  PlainTask* task_ = nullptr;
  std::vector<TaskPtr> tasks_;
  std::vector<Variant> variants_ = value_of(variants_of({"full", "snapkv"}, {0.5}));
  Console console_{true, true};
};

TEST_F(Runner, a_stopped_run_goes_on_and_gives_the_rows_of_one_that_was_not) {
  const std::string whole = rows(value_of(measure(nullptr)));
  EXPECT_EQ(task_->n_measured, 6u);

  task_->n_measured = 0;
  task_->stop_after = 2;
  const Result<std::vector<Record>> stopped = measure(open().get());
  ASSERT_FALSE(stopped.ok());
  EXPECT_EQ(stopped.error().kind, ErrorKind::cancelled);
  EXPECT_NE(stopped.error().message.find("2 of 6"), std::string::npos) << stopped.error().message;
  EXPECT_NE(stopped.error().message.find(log_path()), std::string::npos);

  task_->n_measured = 0;
  task_->stop_after = 1000;
  EXPECT_EQ(rows(value_of(measure(open().get()))), whole);
  EXPECT_EQ(task_->n_measured, 4u);
  EXPECT_EQ(rows(value_of(measure(open().get()))), whole);  // all of it from the log
  EXPECT_EQ(task_->n_measured, 4u);
}

TEST_F(Runner, a_torn_last_line_is_passed_over_and_measured_again) {
  const std::string whole = rows(value_of(measure(open().get())));
  const std::string text = log_text();
  for (const std::size_t n_lost : {std::size_t{1}, std::size_t{30}, std::size_t{300}}) {
    write_log(text.substr(0, text.size() - n_lost));
    task_->n_measured = 0;
    EXPECT_EQ(rows(value_of(measure(open().get()))), whole);
    EXPECT_EQ(task_->n_measured, n_lost == 1 ? 0u : 1u) << n_lost;
    task_->n_measured = 0;  // the torn line stays where it is and harms nothing
    EXPECT_EQ(rows(value_of(measure(open().get()))), whole);
    EXPECT_EQ(task_->n_measured, 0u);
  }
}

TEST_F(Runner, another_option_share_or_text_is_another_unit) {
  value_of(measure(open().get()));
  task_->n_measured = 0;
  task_->option = 2;
  value_of(measure(open().get()));
  EXPECT_EQ(task_->n_measured, 6u);
  variants_ = value_of(variants_of({"full", "snapkv"}, {0.25}));
  value_of(measure(open().get()));
  EXPECT_EQ(task_->n_measured, 9u);  // full is the same
}

TEST_F(Runner, a_recipe_under_two_names_is_measured_once) {
  variants_ = value_of(variants_of({"full", "full"}, {}));
  const std::vector<Record> records = value_of(measure(nullptr));
  EXPECT_EQ(records.size(), 6u);
  EXPECT_EQ(task_->n_measured, 3u);
}

TEST_F(Runner, a_file_that_is_no_log_is_refused_and_left_as_it_was) {
  for (const char* text : {"dear diary", "{\"my\": \"json\"}\n", "[]\n"}) {
    write_log(text);
    const auto opened = EvalLog::open(log_path(), console_);
    ASSERT_FALSE(opened.ok()) << text;
    EXPECT_EQ(opened.error().code, "DOC_FORMAT");
    EXPECT_NE(opened.error().message.find(log_path() + ":1"), std::string::npos);
    EXPECT_EQ(log_text(), text);
  }
  EXPECT_EQ(EvalLog::open(folder_.string(), console_).error().code, "STORAGE");
}

TEST_F(Runner, rows_add_up_items_sets_and_kinds) {
  const std::vector<Record> records = value_of(measure(nullptr));
  const std::vector<Row> all = rows_of(tasks_, variants_, records);
  ASSERT_EQ(all.size(), 2u);
  const Json row = to_json(all[1]);
  EXPECT_EQ(row["recipe"], "snapkv");
  EXPECT_EQ(row["keep"], 0.5);
  EXPECT_EQ(row["items"], 3);
  EXPECT_EQ(row["n"], 6);
  EXPECT_EQ(row["right"], 0.5);            // the fact, never the list
  EXPECT_TRUE(row["right_se"].is_null());  // all texts alike
  EXPECT_EQ(row["number"], 2);             // 1, 1, 2, 2, 3, 3
  EXPECT_NEAR(row["number_se"].get<double>(), 1 / std::sqrt(3.0), 1e-12);
  EXPECT_EQ(row["kv_bytes"], 240);
  EXPECT_EQ(row["kv_saved"], 0.6);
  EXPECT_EQ(row["read_ms"], 7.5);
  EXPECT_EQ(row["cut"], 3);
  ASSERT_EQ(row["kinds"].size(), 2u);
  EXPECT_EQ(row["kinds"][1]["kind"], "list");
  EXPECT_EQ(row["kinds"][1]["right"], 0);
  EXPECT_EQ(row["kinds"][1]["n"], 3);
  ASSERT_EQ(row["sets"].size(), 2u);
  EXPECT_EQ(row["sets"][0]["set"], "one");
  EXPECT_EQ(row["sets"][0]["number"], 2);  // texts 1 and 3
  EXPECT_NEAR(row["sets"][0]["number_se"].get<double>(), 1, 1e-12);
  EXPECT_EQ(row["sets"][1]["items"], 1);
  EXPECT_TRUE(row["sets"][1]["number_se"].is_null());
}

TEST_F(Runner, a_grade_that_says_nothing_of_a_measure_does_not_count_for_it) {
  std::vector<Record> records = value_of(measure(nullptr));
  for (Record& record : records) record.measured.grades[1].sums.resize(1);  // the lists
  const std::vector<Row> all = rows_of(tasks_, variants_, records);
  const Json row = to_json(all[0]);
  EXPECT_EQ(row["n"], 6);
  EXPECT_EQ(row["number"], 2);  // 1, 2, 3
  EXPECT_EQ(row["number_n"], 3);
  EXPECT_EQ(row["kinds"][1]["number_n"], 0);
  EXPECT_FALSE(row.contains("right_n"));
  EXPECT_NE(table_of(all).find("-\n"), std::string::npos);
}

TEST(Variants, of_a_share_that_a_recipe_refuses_say_why) {
  const std::vector<Variant> one = value_of(variants_of({"full"}, {0.25, 0.5}));
  ASSERT_EQ(one.size(), 1u) << "it never evicts";
  EXPECT_EQ(one[0].recipe.keep(), 1);
  const auto refused = variants_of({"snapkv"}, {0.5, 2});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, "RECIPE");
}

TEST(Eta, is_what_like_units_took_and_else_the_mean) {
  Eta time;
  const Eta::Kind fast{"recall a", "full"}, slow{"recall a", "kvzip"}, other{"recall b", "full"};
  for (int i = 0; i < 3; ++i) time.expect(fast), time.expect(slow);
  time.expect(other);
  EXPECT_FALSE(time.ms());
  time.measured(fast, 10);
  EXPECT_DOUBLE_EQ(*time.ms(), 2 * 10 + 3 * 10 + 10);
  time.measured(slow, 50);
  EXPECT_DOUBLE_EQ(*time.ms(), 2 * 10 + 2 * 50 + 30);  // the mean of 10 and 50
  time.dropped(slow);
  EXPECT_DOUBLE_EQ(*time.ms(), 2 * 10 + 50 + 30);
  EXPECT_EQ(left_text(200'000), "about 4 min left");
  EXPECT_EQ(left_text(59'000), "less than a minute left");
}

}  // namespace
}  // namespace satchel::app
