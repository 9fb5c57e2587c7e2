#include "app/cli/eval/needle.h"

#include <algorithm>
#include <array>
#include <utility>

#include "app/cli/eval/evaluate.h"
#include "app/cli/eval/needle_file.h"
#include "runtime/measure/needle_reading.h"
#include "runtime/measure/needle_tasks/family.h"
#include "runtime/measure/packed_text.h"

namespace satchel::app {
namespace {

// Far enough apart that no two runs of different seeds share a context.
constexpr std::uint64_t kSeedStride = 1'000'003;

class NeedleTask final : public Task {
 public:
  NeedleTask(std::vector<runtime::NeedleContext> contexts, const NeedleOptions& options)
      : contexts_(std::move(contexts)), options_(options) {}

  std::string_view name() const override { return "needle"; }
  std::span<const Measure> measures() const override { return kMeasures; }
  Json settings() const override {
    return {{"without_context", options_.without_context}, {"question", options_.question}};
  }
  Result<void> prepare(runtime::Engine& engine) override;
  std::span<const Item> items() const override { return items_; }
  Result<Measured> measure(runtime::Engine& engine, const kvcache::Recipe& recipe, std::size_t item,
                           std::stop_token stop) override;

 private:
  static inline const std::array<Measure, 1> kMeasures = {
      Measure{.name = "recall", .label = "right answers"}};

  Result<void> make_contexts(const runtime::Engine& engine);
  Result<void> make_family(const runtime::NeedleFamily& family, std::size_t n_tokens,
                           const runtime::CountTokens& count);
  void add_item(const std::string& set, std::size_t number, const runtime::NeedleContext& context);

  std::vector<runtime::NeedleContext> contexts_;  // of a file, or made by prepare()
  NeedleOptions options_;
  std::vector<Item> items_;
};

Result<void> NeedleTask::prepare(runtime::Engine& engine) {
  items_.clear();
  if (options_.file.empty()) return make_contexts(engine);
  for (std::size_t i = 0; i < contexts_.size(); ++i) add_item({}, i, contexts_[i]);
  return {};
}

Result<void> NeedleTask::make_contexts(const runtime::Engine& engine) {
  contexts_.clear();
  const runtime::Tokenizer& tokenizer = engine.tokenizer();
  // A bos is left room for in every part, which costs a token at most.
  const auto count = [&](std::string_view text) -> Result<std::size_t> {
    SATCHEL_TRY_ASSIGN(const auto ids, runtime::raw_ids(tokenizer, text));
    return ids.size();
  };
  for (const std::size_t n_tokens : options_.n_tokens) {
    if (n_tokens > engine.config().context)
      return Error{ErrorKind::invalid, "CONTEXT_FULL",
                   "--length " + std::to_string(n_tokens) + ": the model's context is " +
                       std::to_string(engine.config().context) + " tokens."};
    for (const runtime::NeedleFamily& family : runtime::needle_families())
      if (options_.families.empty() ||
          std::ranges::find(options_.families, family.name) != options_.families.end())
        SATCHEL_TRY(make_family(family, n_tokens, count));
  }
  return {};
}

Result<void> NeedleTask::make_family(const runtime::NeedleFamily& family, std::size_t n_tokens,
                                     const runtime::CountTokens& count) {
  const std::string set = std::string(family.name) + "-" + std::to_string(n_tokens);
  for (std::size_t i = 0; i < options_.n_contexts; ++i) {
    SATCHEL_TRY_ASSIGN(
        runtime::NeedleContext context,
        runtime::make_needle_context(
            family, {.n_tokens = n_tokens, .seed = options_.seed * kSeedStride + i}, count));
    add_item(set, i, context);
    contexts_.push_back(std::move(context));
  }
  return {};
}

void NeedleTask::add_item(const std::string& set, std::size_t number,
                          const runtime::NeedleContext& context) {
  Json content = {context.parts};
  for (const runtime::Needle& needle : context.needles)
    content.push_back({needle.ask, needle.values});
  items_.push_back({.set = set, .name = std::to_string(number), .content = content.dump()});
}

Result<Measured> NeedleTask::measure(runtime::Engine& engine, const kvcache::Recipe& recipe,
                                     std::size_t item, std::stop_token stop) {
  const runtime::NeedleContext& context = contexts_[item];
  SATCHEL_TRY_ASSIGN(const runtime::NeedleAnswers answers,
                     runtime::ask_needles(engine, recipe, context,
                                          {.question_known = options_.question == "known",
                                           .without_context = options_.without_context},
                                          std::move(stop)));
  Measured out;
  if (!options_.without_context) out.held = Held::of(answers.stats);
  out.read_ms = answers.read_ms;
  out.answer_ms = answers.answer_ms;
  for (std::size_t i = 0; i < context.needles.size(); ++i) {
    const runtime::Needle& needle = context.needles[i];
    const std::string& said = answers.said[i];
    const double score = runtime::needle_score(said, needle);
    const Json value = needle.values.size() == 1 ? Json(needle.values[0]) : Json(needle.values);
    out.grades.push_back(
        {.sums = {score},
         .detail = {
             {"ask", needle.ask}, {"value", value}, {"answer", said}, {"right", score == 1}}});
  }
  return out;
}

std::string names_of_families() {
  std::string names;
  for (const runtime::NeedleFamily& family : runtime::needle_families())
    names += (names.empty() ? "" : ", ") + std::string(family.name);
  return names;
}

}  // namespace

void add_made_options(CLI::App& command, NeedleOptions& options, CLI::Option* file) {
  command
      .add_option("--families", options.families,
                  "Of the kinds of texts that are made, these: " + names_of_families())
      ->delimiter(',')
      ->excludes(file);
  command
      .add_option("--length", options.n_tokens,
                  "Tokens of a text with a question and its answer, each family at each")
      ->delimiter(',')
      ->check(whole_number())
      ->capture_default_str()
      ->excludes(file);
  command.add_option("--contexts", options.n_contexts, "Texts of each family and length")
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->excludes(file);
  command.add_option("--seed", options.seed, "Same seed, same texts")
      ->check(whole_number())
      ->capture_default_str()
      ->excludes(file);
}

void add_needle_options(CLI::App& command, NeedleOptions& options) {
  CLI::Option* file = command
                          .add_option("--file", options.file,
                                      "Contexts of your own in place of texts that are made, one a "
                                      "line (JSON)")
                          ->type_name("FILE");
  add_made_options(command, options, file);
  command
      .add_option("--question", options.question,
                  "Whether it is known while the text is compressed; known reads the text anew for "
                  "each")
      ->check(CLI::IsMember({"unknown", "known"}))
      ->capture_default_str();
  command.add_flag("--without-notes", options.without_context,
                   "Asks without reading the contexts: what can be guessed");
}

Result<TaskPtr> make_needle_task(const NeedleOptions& options) {
  for (const std::string& name : options.families)
    if (runtime::find_needle_family(name) == nullptr)
      return Error{ErrorKind::invalid, "PARAM",
                   "There is no family \"" + name + "\". There are: " + names_of_families() + "."};
  std::vector<runtime::NeedleContext> contexts;
  if (!options.file.empty()) {
    SATCHEL_TRY_ASSIGN(contexts, read_needle_file(options.file));
  }
  return TaskPtr(std::make_unique<NeedleTask>(std::move(contexts), options));
}

void add_eval_needle(CLI::App& eval, const Choose& choose) {
  add_task_command<NeedleOptions>(eval, choose, "needle",
                                  "Facts in a text, read, compressed and asked for: any model",
                                  add_needle_options, make_needle_task);
}

}  // namespace satchel::app
