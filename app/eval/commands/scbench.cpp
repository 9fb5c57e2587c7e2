// `satchel eval scbench`: several questions about one text, the first of which a recipe may know
// while it compresses. What it loses from the first question to the later ones is what it had kept
// for the first alone.
//   source  arXiv:2412.10319 (SCBench): four abilities, two ways to share a context; the texts are
//           ours, for small models, and in its multi-turn way right answers stand in the chat, as
//           in its code
#include <algorithm>
#include <memory>
#include <utility>

#include "app/cli/text_table.h"
#include "app/eval/commands/evaluate.h"
#include "app/eval/commands/needle_file.h"
#include "app/eval/commands/task_options.h"
#include "app/eval/measure/needle_reading.h"
#include "kernels/base/size_text.h"

namespace satchel::app {
namespace {

struct Ability {
  std::string_view name, family;
};
constexpr Ability kAbilities[] = {
    {"string", "numbers"}, {"semantic", "paraphrased"}, {"global", "majority"}, {"mixed", "mixed"}};
constexpr std::string_view kModes[] = {"turns", "requests"};
constexpr const char* kFirst = "question 1";

std::vector<std::string> names_of(std::span<const Ability> abilities) {
  std::vector<std::string> names;
  for (const Ability& ability : abilities) names.emplace_back(ability.name);
  return names;
}

struct ScbenchOptions {
  EvalOptions eval;
  std::string file;
  std::vector<std::string> abilities = names_of(kAbilities);
  std::vector<std::string> modes = {std::begin(kModes), std::end(kModes)};
  std::size_t n_tokens = 1300, n_contexts = 4, n_questions = 5;
  std::uint64_t seed = 1;
};

std::string later_of(std::size_t n_questions) {
  return n_questions == 2 ? "question 2" : "questions 2-" + std::to_string(n_questions);
}

class ScbenchTask final : public Task {
 public:
  ScbenchTask(std::vector<eval::NeedleContext> contexts, const ScbenchOptions& options)
      : contexts_(std::move(contexts)), options_(options) {}

  std::string_view name() const override { return "scbench"; }
  std::span<const Measure> measures() const override { return needle_measures(); }
  Json settings() const override { return {{"questions", options_.n_questions}}; }
  Result<void> prepare(runtime::Engine& engine) override;
  Result<Measured> measure(runtime::Engine& engine, const kvcache::Recipe& recipe, std::size_t item,
                           std::stop_token stop) override;

 private:
  Result<void> make_contexts(const runtime::Engine& engine);
  bool goes_on(std::size_t item) const { return item_modes_[item] == kModes[0]; }

  std::vector<eval::NeedleContext> contexts_;  // of a file, or made by prepare()
  ScbenchOptions options_;
  std::vector<std::size_t> item_contexts_;    // [items]
  std::vector<std::string_view> item_modes_;  // [items]
};

Result<void> ScbenchTask::make_contexts(const runtime::Engine& engine) {
  for (const Ability& ability : kAbilities) {
    if (std::ranges::find(options_.abilities, ability.name) == options_.abilities.end()) continue;
    const eval::NeedleFamily& family = *eval::find_needle_family(ability.family);
    for (std::size_t i = 0; i < options_.n_contexts; ++i) {
      SATCHEL_TRY_ASSIGN(contexts_.emplace_back(),
                         make_needle_context_for(engine, family,
                                                 {.n_tokens = options_.n_tokens,
                                                  .seed = options_.seed * kSeedStride + i}));
      contexts_.back().ability = ability.name;
    }
  }
  return {};
}

Result<void> ScbenchTask::prepare(runtime::Engine& engine) {
  if (options_.file.empty()) SATCHEL_TRY(make_contexts(engine));
  for (std::size_t i = 0; i < contexts_.size(); ++i) {
    eval::NeedleContext& context = contexts_[i];
    context.needles.resize(std::min(context.needles.size(), options_.n_questions));
    const std::string content = content_of(context);
    for (const std::string& mode : options_.modes) {
      const bool is_first = mode == kModes[0];
      items_.push_back({.set = (context.ability.empty() ? "yours" : context.ability) + ", " + mode,
                        .name = std::to_string(i),
                        .content = content});
      item_contexts_.push_back(i);
      item_modes_.push_back(kModes[is_first ? 0 : 1]);
    }
  }
  return {};
}

Result<Measured> ScbenchTask::measure(runtime::Engine& engine, const kvcache::Recipe& recipe,
                                      std::size_t item, std::stop_token stop) {
  const eval::NeedleContext& context = contexts_[item_contexts_[item]];
  SATCHEL_TRY_ASSIGN(
      const eval::NeedleAnswers answers,
      eval::ask_needles(engine, recipe, context, {.goes_on = goes_on(item)}, std::move(stop)));
  Measured out;
  out.held = Held::of(answers.stats);
  out.read_ms = answers.read_ms;
  out.answer_ms = answers.answer_ms;
  for (std::size_t i = 0; i < context.needles.size(); ++i) {
    const double score = eval::needle_score(answers.said[i], context.needles[i]);
    out.grades.push_back({.kind = i == 0 ? kFirst : later_of(options_.n_questions),
                          .sums = {score, answers.log_probability[i]},
                          .detail = {{"question", i + 1},
                                     {"ask", context.needles[i].ask},
                                     {"values", context.needles[i].values},
                                     {"answer", answers.said[i]},
                                     {"right", score == 1}}});
  }
  return out;
}

// Right answers to the first question and to the later ones, of one set.
struct Scores {
  double first = 0, later = 0;
  double drop() const { return first - later; }
};

Scores scores_of(const Part& set) {
  Scores out;
  for (const Part& kind : set.kinds)
    (kind.name == kFirst ? out.first : out.later) = kind.estimates.front().mean;
  return out;
}

Json scored(const Row& row, const Row& full) {
  Json json = to_json(row);
  for (std::size_t i = 0; i < row.sets.size(); ++i) {
    const Scores own = scores_of(row.sets[i]), whole = scores_of(full.sets[i]);
    json["sets"][i].update({{"first", own.first},
                            {"later", own.later},
                            {"drop", own.drop()},
                            {"full_first", whole.first},
                            {"full_later", whole.later}});
  }
  return json;
}

std::string points(double share) {
  return fixed_text(100 * share, 1);
}

std::string text_of(std::span<const Row> rows, std::size_t n_questions) {
  std::vector<Cells> table = {
      {"recipe", "keep", kFirst, later_of(n_questions), "drop", "full's", "of fp16"}};
  for (const Row& row : rows) {
    const double fp16 = static_cast<double>(row.all.held.fp16_bytes);
    table.push_back(
        {row.variant->name, short_percent(row.variant->recipe.keep()), "", "", "", "",
         fp16 > 0 ? short_percent(static_cast<double>(row.all.held.bytes) / fp16) : "-"});
    for (std::size_t i = 0; i < row.sets.size(); ++i) {
      const Scores own = scores_of(row.sets[i]), full = scores_of(rows.front().sets[i]);
      table.push_back({"  " + row.sets[i].name, "", points(own.first), points(own.later),
                       points(own.drop()), points(full.first) + " / " + points(full.later)});
    }
  }
  return "Right answers, in per cent. The drop is what a recipe loses behind the first question;\n"
         "read it beside the full cache's.\n\n" +
         aligned(table);
}

Result<std::vector<eval::NeedleContext>> contexts_of(const std::string& file) {
  if (file.empty()) return std::vector<eval::NeedleContext>();
  SATCHEL_TRY_ASSIGN(std::vector<eval::NeedleContext> contexts, read_needle_file(file));
  for (std::size_t i = 0; i < contexts.size(); ++i)
    if (contexts[i].needles.size() < 2)
      return Error{ErrorKind::invalid, "PARAM",
                   file + ": context " + std::to_string(i + 1) +
                       " has one question. Give each two or more: the later ones are what is "
                       "compared."};
  return contexts;
}

Result<void> run(ScbenchOptions options, Console& console) {
  SATCHEL_TRY_ASSIGN(std::vector<eval::NeedleContext> contexts, contexts_of(options.file));
  std::vector<std::string>& recipes = options.eval.recipes;
  if (recipes.front() != "full") recipes.insert(recipes.begin(), "full");  // what is compared with
  const TaskPtr task = std::make_unique<ScbenchTask>(std::move(contexts), options);
  SATCHEL_TRY_ASSIGN(const Evaluated done, measure_tasks(options.eval, {&task, 1}, console));
  if (!console.json()) {
    console.data(text_of(done.rows, options.n_questions));
    return {};
  }
  Json rows = Json::array();
  for (const Row& row : done.rows) rows.push_back(scored(row, done.rows.front()));
  write_rows(done, rows, console);
  return {};
}

void add_text_options(CLI::App& command, ScbenchOptions& options) {
  CLI::Option* file = command
                          .add_option("--file", options.file,
                                      "Your own contexts instead of generated texts, one per line "
                                      "(JSON), each with two questions or more")
                          ->type_name("FILE");
  command
      .add_option("--abilities", options.abilities,
                  "What to ask for: numbers word for word (string), things in other words "
                  "(semantic), what most people do (global), all of it (mixed)")
      ->delimiter(',')
      ->check(one_of_names(names_of(kAbilities)))
      ->capture_default_str()
      ->excludes(file);
  command.add_option("--length", options.n_tokens, "Tokens of a generated text, with question")
      ->check(whole_number())
      ->capture_default_str()
      ->excludes(file);
  command.add_option("--contexts", options.n_contexts, "Texts per ability")
      ->check(whole_number(1))
      ->capture_default_str()
      ->excludes(file);
  command.add_option("--seed", options.seed, "Random seed; the same seed gives the same texts")
      ->check(whole_number())
      ->capture_default_str()
      ->excludes(file);
}

}  // namespace

void add_eval_scbench(CLI::App& eval, const Choose& choose) {
  const auto options = std::make_shared<ScbenchOptions>();
  CLI::App* command = eval.add_subcommand(
      "scbench", "Ask several questions about one text: the first one, and what later ones lose");
  add_text_options(*command, *options);
  command
      ->add_option("--modes", options->modes,
                   "One chat, whose first question is known during compression (turns), or a "
                   "copy of one cache for each question, none known (requests)")
      ->delimiter(',')
      ->check(one_of_names(options->modes))
      ->capture_default_str();
  command->add_option("--questions", options->n_questions, "Questions about each text, at most")
      ->check(whole_number(2, 64))
      ->capture_default_str();
  add_eval_options(*command, options->eval);
  on_run(*command, choose, options,
         [](const ScbenchOptions& given, Console& console) { return run(given, console); });
}

}  // namespace satchel::app
