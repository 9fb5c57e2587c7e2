// `satchel eval longbench`.
#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "app/eval/commands/evaluate.h"
#include "app/eval/commands/longbench_file.h"
#include "app/eval/commands/task_options.h"

namespace satchel::app {
namespace {

using eval::longbench::Example;

// LongBench-E's stretches of length.
std::string kind_of(std::size_t length) {
  if (length == 0) return {};
  return length < 4000 ? "0-4k" : length < 8000 ? "4-8k" : "8k+";
}

class LongBenchTask final : public Task {
 public:
  LongBenchTask(std::vector<Example> examples, const LongBenchOptions& options)
      : examples_(std::move(examples)), options_(options) {}

  std::string_view name() const override { return "longbench"; }
  std::span<const Measure> measures() const override { return kMeasures; }
  Json settings() const override {
    return {{"question", options_.question}, {"length", options_.n_tokens}};
  }
  Result<void> prepare(runtime::Engine& engine) override;
  Result<Measured> measure(runtime::Engine& engine, const kvcache::Recipe& recipe, std::size_t item,
                           std::stop_token stop) override;

 private:
  static inline const std::array<Measure, 1> kMeasures = {Measure{.name = "score"}};

  std::vector<Example> examples_;
  LongBenchOptions options_;
};

Result<void> LongBenchTask::prepare(runtime::Engine&) {
  items_.clear();
  for (const Example& example : examples_) {
    const Json content = {example.input, example.context, example.answers, example.classes};
    items_.push_back(
        {.set = std::string(example.dataset->name), .name = example.id, .content = content.dump()});
  }
  return {};
}

Result<Measured> LongBenchTask::measure(runtime::Engine& engine, const kvcache::Recipe& recipe,
                                        std::size_t item, std::stop_token stop) {
  const Example& example = examples_[item];
  SATCHEL_TRY_ASSIGN(const eval::longbench::Answer answer,
                     eval::longbench::ask(engine, recipe, example,
                                          {.question_known = options_.question == "known",
                                           .n_tokens_max = options_.n_tokens},
                                          std::move(stop)));
  Measured out;
  out.held = Held::of(answer.stats);
  out.read_ms = answer.read_ms;
  out.answer_ms = answer.answer_ms;
  out.grades.push_back({.kind = kind_of(example.length),
                        .sums = {answer.score},
                        .detail = {{"ask", example.input},
                                   {"value", example.answers},
                                   {"answer", answer.said},
                                   {"prompt_cut", answer.cut}}});
  return out;
}

}  // namespace

void add_longbench_options(CLI::App& command, LongBenchOptions& options) {
  command
      .add_option("FILE", options.files,
                  "Files of LongBench or LongBench-E as published (JSON lines)")
      ->type_name("")
      ->required();
  command.add_option("--examples", options.n_examples, "Maximum examples per file; 0: all")
      ->check(whole_number())
      ->capture_default_str();
  command
      .add_option("--length", options.n_tokens,
                  "Maximum tokens of a prompt, cut in the middle; 0: what fits the model's context")
      ->check(whole_number())
      ->capture_default_str();
  command
      .add_option(
          "--question", options.question,
          "Whether the question is known during compression; published scores use \"known\"")
      ->check(CLI::IsMember({"known", "unknown"}))
      ->capture_default_str();
}

Result<TaskPtr> make_longbench_task(const LongBenchOptions& options) {
  std::vector<Example> all;
  for (const std::string& file : options.files) {
    SATCHEL_TRY_ASSIGN(std::vector<Example> examples,
                       read_longbench_file(file, options.n_examples));
    std::ranges::move(examples, std::back_inserter(all));
  }
  return TaskPtr(std::make_unique<LongBenchTask>(std::move(all), options));
}

void add_eval_longbench(CLI::App& eval, const Choose& choose) {
  add_task_command<LongBenchOptions>(eval, choose, "longbench",
                                     "Score LongBench from its published files",
                                     add_longbench_options, make_longbench_task);
}

}  // namespace satchel::app
