// `satchel bench reading`: what page selectors read of a document in each step, how much of the
// attention that covers, and what it does to speed and answers, beside reading all of it.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/cli/interrupt.h"
#include "app/cli/workbench.h"
#include "app/eval/commands/bench_command.h"
#include "app/eval/commands/commands.h"
#include "app/eval/commands/lane_search.h"
#include "app/eval/measure/reader_meter.h"
#include "kernels/base/size_text.h"

namespace satchel::app {
namespace {

struct ReadingOptions {
  Options common;
  std::vector<std::string> recipes = {"quest"};
  std::vector<double> keeps;
  std::vector<std::size_t> depths = {4096};
  std::string text;
  std::size_t n_steps = 64;
};

// Documents read whole, one for each way of holding it: recipes that differ in their selector share
// one.
class WholeDocuments {
 public:
  WholeDocuments(runtime::Engine& engine, const eval::ReaderText& text)
      : engine_(engine), text_(text) {}

  Result<eval::ReaderDocument*> of(const kvcache::Recipe& recipe) {
    SATCHEL_TRY_ASSIGN(const kvcache::Recipe whole, eval::reading_all(recipe));
    Json held = Json::parse(whole.json());
    for (const char* said : {"name", "source", "differs"}) held.erase(said);
    const auto found = documents_.find(held.dump());
    if (found != documents_.end()) return &found->second;
    SATCHEL_TRY_ASSIGN(eval::ReaderDocument document,
                       eval::ReaderDocument::read(engine_, whole, text_, begin_interruptible()));
    return &documents_.emplace(held.dump(), std::move(document)).first->second;
  }

 private:
  runtime::Engine& engine_;
  eval::ReaderText text_;
  std::map<std::string, eval::ReaderDocument> documents_;
};

Result<std::vector<std::int32_t>> ids_of(const ReadingOptions& options,
                                         const runtime::Tokenizer& tokenizer) {
  SATCHEL_TRY_ASSIGN(const std::string text, read_text_file(options.text));
  SATCHEL_TRY_ASSIGN(std::vector<std::int32_t> ids,
                     tokenizer.encode(text, runtime::SpecialText::as_text));
  for (const std::size_t depth : options.depths)
    if (ids.size() < depth + options.n_steps)
      return Error{ErrorKind::invalid, "PARAM",
                   options.text + " has " + count_text(ids.size()) +
                       (ids.size() == 1 ? " token; " : " tokens; ") +
                       count_text(depth + options.n_steps) +
                       " are needed for this depth and --steps."};
  return ids;
}

Json row_of(const Variant& variant, const eval::ReaderText& text,
            const eval::ReaderFigures& figures) {
  return Json{{"recipe", variant.name},
              {"depth", text.n_document},
              {"steps", text.n_steps()},
              {"tokens_read", figures.tokens_read},
              {"tokens_held", figures.tokens_held},
              {"attention_read", figures.mass},
              {"attention_read_worst_layer", figures.mass_of_worst_layer},
              {"worst_layer", figures.worst_layer},
              {"bytes_read", figures.bytes_read},
              {"bytes_held", figures.bytes_held},
              {"agreement", figures.agreement},
              {"kl", figures.kl},
              {"decode_tokens_per_s", 1000 / figures.step_ms},
              {"decode_tokens_per_s_all", 1000 / figures.step_all_ms},
              {"times_all", figures.step_all_ms / figures.step_ms}};
}

constexpr const char* kHead =
    "depth    recipe           tokens read  attention  worst layer  bytes a step    of all  "
    "same token       KL  tok/s all -> read  times\n";

std::string line_of(const Json& row) {
  const double read = row["bytes_read"], held = row["bytes_held"];
  const std::string layer = " (" + std::to_string(row["worst_layer"].get<std::size_t>()) + ")";
  return padded(count_text(row["depth"].get<std::size_t>()), 9) + padded(row["recipe"], 17) +
         right_aligned(fixed_text(row["tokens_read"], 0), 11) +
         right_aligned(format_percent(row["attention_read"]), 11) +
         right_aligned(format_percent(row["attention_read_worst_layer"]) + layer, 13) +
         right_aligned(size_text(static_cast<std::size_t>(read)), 14) +
         right_aligned(format_percent(read / held), 10) +
         right_aligned(format_percent(row["agreement"]), 12) +
         right_aligned(fixed_text(row["kl"], 4), 9) +
         right_aligned(fixed_text(row["decode_tokens_per_s_all"], 1) + " -> " +
                           fixed_text(row["decode_tokens_per_s"], 1),
                       19) +
         right_aligned(fixed_text(row["times_all"], 2), 7) + "\n";
}

Result<void> run(const ReadingOptions& options, Console& console) {
  SATCHEL_TRY_ASSIGN(const auto variants, variants_of(options.recipes, options.keeps));
  SATCHEL_TRY_ASSIGN(const auto engine, open_engine(options.common, console));
  SATCHEL_TRY_ASSIGN(const std::vector<std::int32_t> ids, ids_of(options, engine->tokenizer()));
  for (const Variant& variant : variants)
    SATCHEL_TRY(ensure_head_budgets(*engine, variant.recipe, console));
  console.note(engine->config().name + " on " + engine->device() + ", " +
               count_text(options.n_steps) +
               " steps each way in turn; \"attention\": the share of it on tokens that are read");
  Json rows = Json::array();
  if (!console.json()) console.data(kHead);
  for (const std::size_t depth : options.depths) {
    const eval::ReaderText text{.ids = std::span(ids).first(depth + options.n_steps),
                                .n_document = depth};
    WholeDocuments whole(*engine, text);
    for (const Variant& variant : variants) {
      SATCHEL_TRY_ASSIGN(eval::ReaderDocument * all, whole.of(variant.recipe));
      SATCHEL_TRY_ASSIGN(
          eval::ReaderDocument document,
          eval::ReaderDocument::read(*engine, variant.recipe, text, begin_interruptible()));
      SATCHEL_TRY_ASSIGN(const eval::ReaderFigures figures,
                         document.compare(*all, text, begin_interruptible()));
      rows.push_back(row_of(variant, text, figures));
      if (!console.json()) console.data(line_of(rows.back()));
    }
  }
  tell_rows(*engine, rows, console);
  return {};
}

}  // namespace

void add_bench_reading(CLI::App& bench, const Choose& choose) {
  const auto options = std::make_shared<ReadingOptions>();
  CLI::App* command = bench.add_subcommand(
      "reading",
      "Measure page selectors: what they read of a document in each step, how much attention that "
      "covers, and the speed and answers beside reading all of it");
  command->add_option("--text", options->text, "The document; it goes on behind each depth")
      ->type_name("FILE")
      ->required();
  command->add_option("--depths", options->depths, "Lengths of the document in tokens")
      ->delimiter(',')
      ->check(whole_number(1))
      ->capture_default_str();
  command->add_option("--steps", options->n_steps, "Tokens decoded behind the document")
      ->check(CLI::Range(std::size_t{8}, eval::kReaderStepsMax))
      ->capture_default_str();
  add_recipe_bench(*command, choose, options, run);
}

}  // namespace satchel::app
