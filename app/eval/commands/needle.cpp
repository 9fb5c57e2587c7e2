// `satchel eval needle`.
#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include "app/eval/commands/evaluate.h"
#include "app/eval/commands/needle_file.h"
#include "app/eval/commands/task_options.h"
#include "app/eval/measure/needle_reading.h"
#include "app/eval/measure/packed_text.h"
#include "app/eval/needle_tasks/family.h"
#include "storage/far/far_file.h"

namespace satchel::app {
namespace {

// Five questions, beginning with another one in each text.
void choose_in_turn(eval::NeedleContext& context, std::size_t number) {
  constexpr std::size_t kInTurn = 5;
  std::vector<eval::Needle>& needles = context.needles;
  std::ranges::rotate(needles,
                      needles.begin() + static_cast<std::ptrdiff_t>(number % needles.size()));
  needles.resize(std::min(needles.size(), kInTurn));
}

std::span<const Measure> on_disk_measures() {
  static const std::array<Measure, 4> kMeasures = {
      needle_measures()[0], needle_measures()[1],
      Measure{.name = "same", .label = "the same answer as in memory", .shown = Shown::in_tables},
      Measure{.name = "speed", .label = "speed, of that in memory", .shown = Shown::in_tables}};
  return kMeasures;
}

Result<std::unique_ptr<kvcache::FarStore>> open_far_file() {
  std::error_code none;  // then the file says that there is no such folder
  SATCHEL_TRY_ASSIGN(auto file, storage::FarFile::open(std::filesystem::temp_directory_path(none)));
  return std::unique_ptr<kvcache::FarStore>(std::move(file));
}

class NeedleTask final : public Task {
 public:
  NeedleTask(std::vector<eval::NeedleContext> contexts, const NeedleOptions& options)
      : contexts_(std::move(contexts)), options_(options) {}

  std::string_view name() const override { return "needle"; }
  std::span<const Measure> measures() const override {
    return options_.on_disk > 0 ? on_disk_measures() : needle_measures();
  }
  Json settings() const override {
    Json json = {{"without_context", options_.without_context}, {"question", options_.question}};
    if (options_.in_turn) json["in_turn"] = true;
    if (options_.merges_layers) json["merge_layers"] = true;
    if (options_.window > 0) json["window"] = options_.window;
    if (options_.on_disk > 0) json["on_disk"] = options_.on_disk;
    return json;
  }
  Result<void> prepare(runtime::Engine& engine) override;
  Result<Measured> measure(runtime::Engine& engine, const kvcache::Recipe& recipe, std::size_t item,
                           std::stop_token stop) override;

 private:
  Result<void> make_contexts(const runtime::Engine& engine);
  Result<void> make_family(const runtime::Engine& engine, const eval::NeedleFamily& family,
                           std::size_t n_tokens);
  void add_item(const std::string& set, std::size_t number, const eval::NeedleContext& context);

  std::vector<eval::NeedleContext> contexts_;  // of a file, or made by prepare()
  NeedleOptions options_;
};

Result<void> NeedleTask::prepare(runtime::Engine& engine) {
  items_.clear();
  if (options_.on_disk > 0 && engine.backend() == "cuda")
    return Error{ErrorKind::unsupported, "FAR_GPU",
                 "--on-disk needs keys and values in main memory. Use it with --backend cpu."};
  if (options_.file.empty()) return make_contexts(engine);
  for (std::size_t i = 0; i < contexts_.size(); ++i) add_item({}, i, contexts_[i]);
  return {};
}

Result<void> NeedleTask::make_contexts(const runtime::Engine& engine) {
  contexts_.clear();
  for (const std::size_t n_tokens : options_.n_tokens)
    for (const eval::NeedleFamily& family : eval::needle_families())
      if (options_.families.empty() ||
          std::ranges::find(options_.families, family.name) != options_.families.end())
        SATCHEL_TRY(make_family(engine, family, n_tokens));
  return {};
}

Result<void> NeedleTask::make_family(const runtime::Engine& engine,
                                     const eval::NeedleFamily& family, std::size_t n_tokens) {
  const std::string set = std::string(family.name) + "-" + std::to_string(n_tokens);
  for (std::size_t i = 0; i < options_.n_contexts; ++i) {
    SATCHEL_TRY_ASSIGN(
        eval::NeedleContext context,
        make_needle_context_for(engine, family,
                                {.n_tokens = n_tokens, .seed = options_.seed * kSeedStride + i}));
    if (options_.in_turn) choose_in_turn(context, i);
    add_item(set, i, context);
    contexts_.push_back(std::move(context));
  }
  return {};
}

void NeedleTask::add_item(const std::string& set, std::size_t number,
                          const eval::NeedleContext& context) {
  items_.push_back({.set = set, .name = std::to_string(number), .content = content_of(context)});
}

Result<Measured> NeedleTask::measure(runtime::Engine& engine, const kvcache::Recipe& recipe,
                                     std::size_t item, std::stop_token stop) {
  const eval::NeedleContext& context = contexts_[item];
  eval::NeedleAsking asking{.question_known = options_.question == "known",
                            .in_turn = options_.in_turn,
                            .without_context = options_.without_context,
                            .merges_layers = options_.merges_layers,
                            .window = options_.window,
                            .limit_share = options_.on_disk};
  if (options_.on_disk > 0) asking.open_far = open_far_file;
  SATCHEL_TRY_ASSIGN(const eval::NeedleAnswers answers,
                     eval::ask_needles(engine, recipe, context, asking, std::move(stop)));
  Measured out;
  if (!options_.without_context) out.held = Held::of(answers.stats, answers.merge_saves);
  out.read_ms = answers.read_ms;
  out.answer_ms = answers.answer_ms;
  for (std::size_t i = 0; i < context.needles.size(); ++i) {
    const eval::Needle& needle = context.needles[i];
    const std::string& said = answers.said[i];
    const double score = eval::needle_score(said, needle), likely = answers.log_probability[i];
    const Json value = needle.values.size() == 1 ? Json(needle.values[0]) : Json(needle.values);
    out.grades.push_back({.kind = !options_.in_turn ? ""
                                  : i == 0          ? "first"
                                                    : "later",
                          .sums = {score, likely},
                          .detail = {{"ask", needle.ask},
                                     {"value", value},
                                     {"answer", said},
                                     {"right", score == 1},
                                     {"log_probability", likely}}});
    if (options_.on_disk == 0) continue;
    const double same = said == answers.said_in_memory[i] ? 1 : 0;
    out.grades.back().sums.insert(out.grades.back().sums.end(), {same, answers.speed[i]});
    out.grades.back().detail["answer_in_memory"] = answers.said_in_memory[i];
  }
  return out;
}

std::string names_of_families() {
  std::string names;
  for (const eval::NeedleFamily& family : eval::needle_families())
    names += (names.empty() ? "" : ", ") + std::string(family.name);
  return names;
}

}  // namespace

std::span<const Measure> needle_measures() {
  static const std::array<Measure, 2> kMeasures = {
      Measure{.name = "recall", .label = "right answers"},
      Measure{.name = "log_probability",
              .is_share = false,
              .label = "log probability of the right answer, nats",
              .shown = Shown::in_tables}};
  return kMeasures;
}

std::string content_of(const eval::NeedleContext& context) {
  Json content = {context.parts};
  for (const eval::Needle& needle : context.needles) content.push_back({needle.ask, needle.values});
  return content.dump();
}

Result<eval::NeedleContext> make_needle_context_for(const runtime::Engine& engine,
                                                    const eval::NeedleFamily& family,
                                                    const eval::NeedleSpec& spec) {
  if (spec.n_tokens > engine.config().context)
    return Error{ErrorKind::invalid, "CONTEXT_FULL",
                 "--length " + std::to_string(spec.n_tokens) + " exceeds the model's context of " +
                     std::to_string(engine.config().context) + " tokens."};
  // A bos is left room for in every part, which costs a token at most.
  return eval::make_needle_context(family, spec, [&](std::string_view text) -> Result<std::size_t> {
    SATCHEL_TRY_ASSIGN(const auto ids, runtime::raw_ids(engine.tokenizer(), text));
    return ids.size();
  });
}

void add_made_options(CLI::App& command, NeedleOptions& options, CLI::Option* file) {
  command
      .add_option("--families", options.families,
                  "Kinds of generated texts to use: " + names_of_families())
      ->delimiter(',')
      ->excludes(file);
  command
      .add_option("--length", options.n_tokens,
                  "Tokens of a generated text with question and answer; each family at each length")
      ->delimiter(',')
      ->check(whole_number())
      ->capture_default_str()
      ->excludes(file);
  command.add_option("--contexts", options.n_contexts, "Texts per family and length")
      ->check(whole_number(1))
      ->capture_default_str()
      ->excludes(file);
  command.add_option("--seed", options.seed, "Random seed; the same seed gives the same texts")
      ->check(whole_number())
      ->capture_default_str()
      ->excludes(file);
}

void add_needle_options(CLI::App& command, NeedleOptions& options) {
  CLI::Option* file = command
                          .add_option("--file", options.file,
                                      "Your own contexts instead of generated texts, one per line "
                                      "(JSON)")
                          ->type_name("FILE");
  add_made_options(command, options, file);
  command
      .add_option(
          "--question", options.question,
          "Whether the question is known during compression; \"known\" rereads the text for "
          "each")
      ->check(CLI::IsMember({"unknown", "known"}))
      ->capture_default_str();
  CLI::Option* known = command.get_option("--question");
  command
      .add_flag("--in-turn", options.in_turn,
                "Ask five questions: one before the recipe compresses a text that waits, the "
                "others after; each on a copy of the cache")
      ->excludes(known);
  command.add_flag("--without-notes", options.without_context,
                   "Ask without the contexts, to measure guessing");
  add_merge_option(command, options.merges_layers)
      ->excludes(command.get_option("--in-turn"))
      ->excludes(command.get_option("--without-notes"));
  command
      .add_option("--window", options.window,
                  "Read each " + std::to_string(eval::kWindowSpan) +
                      " tokens of a text behind so many tokens and its first ones, as a stream "
                      "with a sliding window; the question sees all of it")
      ->check(whole_number(1));
  command
      .add_option("--on-disk", options.on_disk,
                  "Ask each question in memory, and again under a memory limit of this share of "
                  "the text's fp16 cache, with the other pages in a file in the temporary folder; "
                  "needs recipes that keep everything as it is")
      ->check(CLI::Range(0.01, 1.0))
      ->excludes(known)
      ->excludes(command.get_option("--in-turn"))
      ->excludes(command.get_option("--without-notes"))
      ->excludes(command.get_option("--merge-layers"));
}

Result<TaskPtr> make_needle_task(const NeedleOptions& options) {
  for (const std::string& name : options.families)
    if (eval::find_needle_family(name) == nullptr)
      return Error{ErrorKind::invalid, "PARAM",
                   "Unknown family \"" + name + "\". Available: " + names_of_families() + "."};
  std::vector<eval::NeedleContext> contexts;
  if (!options.file.empty()) {
    SATCHEL_TRY_ASSIGN(contexts, read_needle_file(options.file));
  }
  return TaskPtr(std::make_unique<NeedleTask>(std::move(contexts), options));
}

void add_eval_needle(CLI::App& eval, const Choose& choose) {
  add_task_command<NeedleOptions>(eval, choose, "needle",
                                  "Ask for facts hidden in a long text; works with any model",
                                  add_needle_options, make_needle_task);
}

}  // namespace satchel::app
