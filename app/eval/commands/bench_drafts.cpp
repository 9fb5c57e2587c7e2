// `satchel bench drafts`: what drafts save, from the text before and by the model itself, per
// recipe and kind of answer.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "app/cli/interrupt.h"
#include "app/cli/workbench.h"
#include "app/eval/commands/bench_command.h"
#include "app/eval/commands/commands.h"
#include "app/eval/commands/lane_search.h"
#include "app/eval/measure/draft_speed.h"
#include "app/eval/measure/speed.h"
#include "kernels/base/size_text.h"

namespace satchel::app {
namespace {

struct DraftOptions {
  Options common;
  std::vector<std::string> recipes = {"full", "balanced", "compact"};
  std::vector<double> keeps;
  std::string text;
  std::size_t n_answer = 256, rounds = 3;
  std::size_t self_pages = 0, self_always = 0;
};

// In an edit, one word of so many is another one.
constexpr std::size_t kEditedWord = 12;

// What is generated behind the document.
struct Answer {
  std::string kind;
  std::vector<std::int32_t> ids;
  runtime::DraftSources sources = {};
};
struct Texts {
  std::vector<std::int32_t> document;
  std::vector<Answer> answers;
};

std::string edited(const std::string& text) {
  std::string out;
  std::size_t n_words = 0;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end) {
    end = std::min(text.find(' ', at + 1), text.size());
    const bool is_changed = ++n_words % kEditedWord == 0;
    out += is_changed ? " [" + std::to_string(n_words) + "]" : text.substr(at, end - at);
  }
  return out;
}

// The end of the file is no part of the document: it is the answer that quotes nothing.
Result<Texts> texts_of(const DraftOptions& options, const runtime::Tokenizer& tokenizer) {
  SATCHEL_TRY_ASSIGN(const std::string text, read_text_file(options.text));
  const auto ids_of = [&](const std::string& part) {
    return tokenizer.encode(part, runtime::SpecialText::as_text);
  };
  SATCHEL_TRY_ASSIGN(const std::vector<std::int32_t> ids, ids_of(text));
  const std::size_t n = options.n_answer;
  if (ids.size() < 4 * n)
    return Error{ErrorKind::invalid, "PARAM",
                 options.text + " has " + count_text(ids.size()) +
                     " tokens; four times --answer are needed."};
  // From the middle, and long enough that no edit leaves fewer tokens.
  const std::size_t begin = std::min(text.find(' ', text.size() / 2), text.size());
  const std::string passage = text.substr(begin, text.size() / 4);
  SATCHEL_TRY_ASSIGN(std::vector<std::int32_t> quote, ids_of(passage));
  SATCHEL_TRY_ASSIGN(std::vector<std::int32_t> edit, ids_of(edited(passage)));
  for (auto* answer : {&quote, &edit}) answer->resize(std::min(answer->size(), n));
  const auto end = ids.end() - static_cast<std::ptrdiff_t>(n);
  return Texts{.document = {ids.begin(), end},
               .answers = {{"quote", quote}, {"edit", edit}, {"other", {end, ids.end()}}}};
}

double median_of(const std::vector<eval::DraftSpeed>& rounds,
                 double (*value)(const eval::DraftSpeed&)) {
  std::vector<double> values;
  for (const eval::DraftSpeed& round : rounds) values.push_back(value(round));
  return eval::median(std::move(values));
}

struct Row {
  const Variant& variant;
  const Answer& answer;
  std::size_t depth;
};

Json row_of(const Row& row, const std::vector<eval::DraftSpeed>& rounds) {
  using Speed = eval::DraftSpeed;
  const auto per_second = [](std::size_t n, double ms) {
    return static_cast<double>(n) * 1000 / ms;
  };
  const auto with = [&](double (*ms)(const Speed&)) {
    return per_second(row.answer.ids.size(), median_of(rounds, ms));
  };
  return Json{
      {"recipe", row.variant.name},
      {"answer", row.answer.kind},
      {"depth", row.depth},
      {"tokens", row.answer.ids.size()},
      {"rounds", rounds.size()},
      {"steps", rounds.back().n_steps},
      {"drafted", rounds.back().drafts.n_drafted},
      {"drafts_accepted", rounds.back().drafts.n_accepted},
      {"steps_with_drafts", rounds.back().n_tried},
      {"ms_of_these", median_of(rounds, [](const Speed& s) { return s.tried_ms; })},
      {"own_drafts_ms", median_of(rounds, [](const Speed& s) { return s.self_ms; })},
      {"plain_tokens_per_s", with([](const Speed& s) { return s.plain_ms; })},
      {"drafted_tokens_per_s", with([](const Speed& s) { return s.drafted_ms; })},
      {"times_plain", median_of(rounds, [](const Speed& s) { return s.plain_ms / s.drafted_ms; })},
      {"times_plain_cpu",
       median_of(rounds, [](const Speed& s) { return s.plain_cpu_ms / s.drafted_cpu_ms; })},
      {"other_logits", rounds.back().n_other}};
}

constexpr const char* kHead =
    "recipe           answer  tokens  steps  accepted    plain tok/s  with drafts  times\n";

std::string line_of(const Json& row) {
  const auto count = [&](const char* name) { return count_text(row[name].get<std::size_t>()); };
  return padded(row["recipe"], 17) + padded(row["answer"], 8) + right_aligned(count("tokens"), 6) +
         right_aligned(count("steps"), 7) +
         right_aligned(count("drafts_accepted") + " of " + count("drafted"), 12) +
         right_aligned(fixed_text(row["plain_tokens_per_s"], 1), 13) +
         right_aligned(fixed_text(row["drafted_tokens_per_s"], 1), 13) +
         right_aligned(fixed_text(row["times_plain"], 2), 7) + "\n";
}

// What the model itself says is another text for each recipe.
Result<std::vector<Answer>> answers_of(const DraftOptions& options, const Texts& texts,
                                       eval::DraftMeter& meter) {
  if (options.self_pages == 0) return texts.answers;
  SATCHEL_TRY_ASSIGN(std::vector<std::int32_t> own,
                     meter.own_text(options.n_answer, begin_interruptible()));
  return std::vector<Answer>{
      {.kind = "own",
       .ids = std::move(own),
       .sources = {
           .lookup = false, .self_pages = options.self_pages, .self_always = options.self_always}}};
}

Result<Json> measured(const DraftOptions& options, const Row& row, eval::DraftMeter& meter) {
  std::vector<eval::DraftSpeed> rounds;
  for (std::size_t round = 0; round < options.rounds; ++round) {
    SATCHEL_TRY_ASSIGN(rounds.emplace_back(),
                       meter.measure(row.answer.ids, row.answer.sources, begin_interruptible()));
  }
  return row_of(row, rounds);
}

Result<void> run(const DraftOptions& options, Console& console) {
  SATCHEL_TRY_ASSIGN(const auto variants, variants_of(options.recipes, options.keeps));
  SATCHEL_TRY_ASSIGN(const auto engine, open_engine(options.common, console));
  SATCHEL_TRY_ASSIGN(const Texts texts, texts_of(options, engine->tokenizer()));
  console.note(engine->config().name + " on " + engine->device() + ", behind " +
               count_text(texts.document.size()) + " tokens, median of " +
               std::to_string(options.rounds));
  Json rows = Json::array();
  if (!console.json()) console.data(kHead);
  for (const Variant& variant : variants) {
    SATCHEL_TRY(ensure_head_budgets(*engine, variant.recipe, console));
    SATCHEL_TRY_ASSIGN(eval::DraftMeter meter,
                       eval::DraftMeter::open(*engine, variant.recipe, texts.document,
                                              options.n_answer, begin_interruptible()));
    SATCHEL_TRY_ASSIGN(const std::vector<Answer> answers, answers_of(options, texts, meter));
    for (const Answer& answer : answers) {
      SATCHEL_TRY_ASSIGN(const Json row,
                         measured(options, {variant, answer, texts.document.size()}, meter));
      if (row["other_logits"] > 0)
        console.warning(variant.name + ": " + count_text(row["other_logits"]) +
                        " tokens had other logits with drafts. This is a bug.");
      if (!console.json()) console.data(line_of(row));
      rows.push_back(row);
    }
  }
  tell_rows(*engine, rows, console);
  return {};
}

}  // namespace

void add_bench_drafts(CLI::App& bench, const Choose& choose) {
  const auto options = std::make_shared<DraftOptions>();
  CLI::App* command = bench.add_subcommand(
      "drafts",
      "Measure how much faster answers are that quote or edit a document, with drafts from it");
  command->add_option("--text", options->text, "The document; its end is the answer that is new")
      ->type_name("FILE")
      ->required();
  command->add_option("--answer", options->n_answer, "Tokens of each answer")
      ->check(CLI::Range(16, 100'000))
      ->capture_default_str();
  command
      ->add_option("--self-drafts", options->self_pages,
                   "Measure drafts by the model itself, of its own answer, from so many pages of "
                   "each lane of its cache")
      ->type_name("PAGES")
      ->check(CLI::Range(1, 10'000));
  command
      ->add_option("--always", options->self_always,
                   "So many of them in every step, whether they pay or not")
      ->type_name("N")
      ->check(CLI::Range(std::size_t{1}, runtime::DraftPace::kMost));
  add_rounds_option(*command, options->rounds, "Measurements per row; the median is shown");
  add_recipe_bench(*command, choose, options, run);
}

}  // namespace satchel::app
