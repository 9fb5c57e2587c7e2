// `satchel eval book`.
#include <algorithm>
#include <string>

#include "app/cli/interrupt.h"
#include "app/cli/on_run.h"
#include "app/cli/workbench.h"
#include "app/eval/commands/book_text.h"
#include "app/eval/commands/engine_pair.h"
#include "app/eval/commands/evaluate.h"
#include "app/eval/commands/task_options.h"
#include "app/eval/measure/book_reading.h"
#include "kernels/base/size_text.h"

namespace satchel::app {
namespace {

struct BookOptions {
  Options common;
  std::size_t n_tokens = 100'000;
  eval::BookSpec spec;
  std::string abilities{spec.abilities};
};

std::size_t count(const eval::BookReading& read, bool eval::BookAnswer::*is) {
  return static_cast<std::size_t>(std::ranges::count(read.answers, true, is));
}

std::string text_of(const eval::BookReading& read) {
  const std::string n = std::to_string(read.answers.size());
  return count_text(read.n_tokens) + " tokens in " + std::to_string(read.n_parts) +
         " parts\nfirst part read after " + duration_text(read.first_part_ms) + ", all after " +
         duration_text(read.read_ms) + ", and " + duration_text(read.idle_ms) +
         " of work that may wait\nheld: " + describe(read.stats) +
         "\non disk: " + size_text(read.disk_bytes) + ", saved in " + duration_text(read.save_ms) +
         "\nopened again in " + duration_text(read.resume_ms) + ", " + count_text(read.n_reread) +
         " tokens read again\n" + std::to_string(count(read, &eval::BookAnswer::right)) + " of " +
         n + " answers right, the fact's part seen in " +
         std::to_string(count(read, &eval::BookAnswer::in_reach)) + ", " +
         duration_text(read.answer_ms) + " each\n" +
         std::to_string(count(read, &eval::BookAnswer::right_told)) +
         " right when the part was named\n";
}

Json answers_of(const eval::Book& book, const eval::BookReading& read) {
  Json out = Json::array();
  for (std::size_t i = 0; i < read.answers.size(); ++i)
    out.push_back({{"ask", book.questions[i].ask},
                   {"value", book.questions[i].value},
                   {"answer", read.answers[i].text},
                   {"right", read.answers[i].right},
                   {"in_reach", read.answers[i].in_reach},
                   {"right_told", read.answers[i].right_told}});
  return out;
}

void show(const runtime::Engine& engine, const eval::Book& book, const eval::BookReading& read,
          Console& console) {
  if (!console.json()) {
    console.data(text_of(read));
    return;
  }
  console.document({{"schema", 1},
                    {"model", engine.config().name},
                    {"device", engine.device()},
                    {"tokens", read.n_tokens},
                    {"parts", read.n_parts},
                    {"first_part_ms", read.first_part_ms},
                    {"read_ms", read.read_ms},
                    {"idle_ms", read.idle_ms},
                    {"save_ms", read.save_ms},
                    {"resume_ms", read.resume_ms},
                    {"reread", read.n_reread},
                    {"disk_bytes", read.disk_bytes},
                    {"cache", to_json(read.stats)},
                    {"answer_ms", read.answer_ms},
                    {"right", count(read, &eval::BookAnswer::right)},
                    {"in_reach", count(read, &eval::BookAnswer::in_reach)},
                    {"right_told", count(read, &eval::BookAnswer::right_told)},
                    {"answers", answers_of(book, read)}});
}

Result<void> run(const BookOptions& options, Console& console) {
  SATCHEL_TRY_ASSIGN(const kvcache::Recipe recipe, chosen_recipe(options.common, "satchel"));
  SATCHEL_TRY_ASSIGN(const std::size_t limit, chosen_budget(options.common));
  SATCHEL_TRY_ASSIGN(const EnginePair engines, open_engine_pair(options.common, recipe, console));
  eval::BookSpec spec = options.spec;
  spec.abilities = options.abilities;
  SATCHEL_TRY_ASSIGN(spec, of_length(spec, options.n_tokens, engines.first->tokenizer()));
  const eval::Book book = eval::make_book(spec);
  SATCHEL_TRY_ASSIGN(const eval::BookReading read,
                     eval::read_book(*engines.first, *engines.second, recipe, book, limit,
                                     begin_interruptible(), console.progress()));
  console.end_progress();
  show(*engines.first, book, read, console);
  return {};
}

}  // namespace

void add_eval_book(CLI::App& eval, const Choose& choose) {
  const auto options = std::make_shared<BookOptions>();
  CLI::App* command = eval.add_subcommand(
      "book", "Read a text many times as long as the context, and ask for facts in it");
  command->add_option("--abilities", options->abilities, "What the facts are about")
      ->check(one_of_names(eval::chat_abilities()))
      ->capture_default_str();
  command->add_option("--length", options->n_tokens, "Tokens of the generated text, about")
      ->check(whole_number(1, 100'000'000))
      ->capture_default_str();
  command->add_option("--questions", options->spec.n_facts, "Facts asked for, one of a person")
      ->check(whole_number(1))
      ->capture_default_str();
  command
      ->add_option("--seed", options->spec.seed, "Random seed; the same seed gives the same text")
      ->check(whole_number())
      ->capture_default_str();
  add_recipe_options(*command, options->common, "satchel");
  add_output_options(*command, options->common);
  add_model_options(*command, options->common);
  on_run(*command, choose, options, run);
}

}  // namespace satchel::app
