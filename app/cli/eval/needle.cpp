#include "app/cli/eval/needle.h"

#include <algorithm>
#include <array>
#include <utility>

#include "app/cli/eval/evaluate.h"
#include "app/cli/eval/needle_file.h"
#include "runtime/measure/packed_text.h"

namespace satchel::app {
namespace {

constexpr std::size_t kAnswerTokensMax = 12;  // a name and what comes after it; chosen

class NeedleTask final : public Task {
 public:
  NeedleTask(std::vector<NeedleContext> contexts, const NeedleOptions& options)
      : contexts_(std::move(contexts)), options_(options) {}

  std::string_view name() const override { return "needle"; }
  std::span<const Measure> measures() const override { return kMeasures; }
  Json settings() const override { return {{"without_context", options_.without_context}}; }
  Result<void> prepare(runtime::Engine& engine) override;
  std::span<const Item> items() const override { return items_; }
  Result<Measured> measure(runtime::Engine& engine, const kvcache::Recipe& recipe, std::size_t item,
                           std::stop_token stop) override;

 private:
  static inline const std::array<Measure, 1> kMeasures = {
      Measure{.name = "recall", .label = "right answers"}};

  std::vector<NeedleContext> contexts_;
  NeedleOptions options_;
  std::vector<Item> items_;
};

Result<void> NeedleTask::prepare(runtime::Engine&) {
  for (const NeedleContext& context : contexts_) {
    Json content = {context.text};
    for (const Needle& needle : context.needles) content.push_back({needle.ask, needle.value});
    items_.push_back({.set = {}, .name = std::to_string(items_.size()), .content = content.dump()});
  }
  return {};
}

Result<Measured> NeedleTask::measure(runtime::Engine& engine, const kvcache::Recipe& recipe,
                                     std::size_t item, std::stop_token stop) {
  const NeedleContext& context = contexts_[item];
  const runtime::Tokenizer& tokenizer = engine.tokenizer();
  SATCHEL_TRY_ASSIGN(
      const std::vector<std::int32_t> ids,
      runtime::raw_ids(tokenizer, options_.without_context ? std::string_view() : context.text));
  std::vector<std::vector<std::int32_t>> questions;
  std::size_t n_question_max = 0;
  for (const Needle& needle : context.needles) {
    SATCHEL_TRY_ASSIGN(questions.emplace_back(),
                       tokenizer.encode(needle.ask, runtime::SpecialText::as_text));
    n_question_max = std::max(n_question_max, questions.back().size());
  }
  SATCHEL_TRY_ASSIGN(
      runtime::PackedText text,
      runtime::PackedText::read(engine, recipe,
                                {.ids = ids, .n_after = n_question_max + kAnswerTokensMax}, stop));
  Measured out;
  if (!options_.without_context) out.held = Held::of(text.stats());
  out.read_ms = text.read_ms();
  const SystemClock clock;
  const double began = clock.steady_ms();
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const Needle& needle = context.needles[i];
    SATCHEL_TRY_ASSIGN(const std::string said,
                       text.answer(questions[i], {.n_tokens_max = kAnswerTokensMax,
                                                  .enough = [&](std::string_view so_far) {
                                                    return said_enough(so_far, needle.value);
                                                  }}));
    const bool right = says_first(said, needle.value);
    out.grades.push_back(
        {.sums = {right ? 1.0 : 0.0},
         .detail = {
             {"ask", needle.ask}, {"value", needle.value}, {"answer", said}, {"right", right}}});
  }
  out.answer_ms = clock.steady_ms() - began;
  return out;
}

}  // namespace

void add_needle_options(CLI::App& command, NeedleOptions& options) {
  command
      .add_option("--file", options.file,
                  "Contexts with facts to find again, one a line (JSON), without a chat format")
      ->type_name("FILE")
      ->required();
  command.add_flag("--without-notes", options.without_context,
                   "Asks without reading the contexts: what can be guessed");
}

Result<TaskPtr> make_needle_task(const NeedleOptions& options) {
  SATCHEL_TRY_ASSIGN(std::vector<NeedleContext> contexts, read_needle_file(options.file));
  return TaskPtr(std::make_unique<NeedleTask>(std::move(contexts), options));
}

void add_eval_needle(CLI::App& eval, const Choose& choose) {
  add_task_command<NeedleOptions>(eval, choose, "needle",
                                  "Facts in a text, read, compressed and asked for: any model",
                                  add_needle_options, make_needle_task);
}

}  // namespace satchel::app
