// `satchel eval`: what a recipe costs in accuracy, measured: next-token agreement and KL on a text,
// recall on questions about notes, names in a text. A row for each recipe at each share.
#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "app/cli/commands.h"
#include "app/cli/exit_codes.h"
#include "app/cli/interrupt.h"
#include "app/cli/needles.h"
#include "app/cli/recall.h"
#include "app/cli/workbench.h"
#include "runtime/measure/measure.h"

namespace satchel::app {
namespace {

struct EvalOptions {
  Options common;
  std::vector<std::string> recipes = {"full", "balanced", "compact", "extreme"};
  std::vector<double> keeps;  // --keep; empty: each recipe's own
  std::string text, needles;  // --text, --needles; "" is not given
  std::size_t n_tokens = 2000, n_prompt = 1500;
  RecallOptions recall;
  std::string answers;         // --answers; "" is not given
  bool without_notes = false;  // --without-notes
};

// Measures one row.
using MeasureFn = std::function<Result<Json>(runtime::Engine&, const Variant&)>;
using TextFn = std::string (*)(const Json& row);

Result<std::vector<std::int32_t>> text_ids(const runtime::Engine& engine,
                                           const EvalOptions& options, const std::string& text) {
  SATCHEL_TRY_ASSIGN(std::vector<std::int32_t> ids,
                     engine.tokenizer().encode(text, runtime::SpecialText::as_text));
  if (ids.size() < options.n_tokens)
    return Error{ErrorKind::invalid, "PARAM",
                 "\"" + options.text + "\" has " + with_thousands(ids.size()) +
                     " tokens, --tokens asks for " + with_thousands(options.n_tokens) + "."};
  ids.resize(options.n_tokens);
  return ids;
}

Result<Json> fidelity_row(runtime::Engine& engine, const Variant& variant,
                          const EvalOptions& options, const std::string& text) {
  SATCHEL_TRY_ASSIGN(const std::vector<std::int32_t> ids, text_ids(engine, options, text));
  SATCHEL_TRY_ASSIGN(const runtime::TextFidelity measured,
                     runtime::measure_on_text(engine, variant.recipe, ids, options.n_prompt,
                                              begin_interruptible()));
  Json row = row_of(variant);
  row.update({{"tokens", options.n_tokens},
              {"prompt_tokens", options.n_prompt},
              {"compared_tokens", measured.fidelity.n_tokens},
              {"agreement", measured.fidelity.agreement},
              {"kl_nats", measured.fidelity.kl},
              {"nll_exact", measured.exact_nll},
              {"nll_packed", measured.packed_nll},
              {"cache", to_json(measured.stats)}});
  return row;
}

std::string fidelity_text(const Json& row) {
  return head_of(row) + "agreement " + format_percent(row["agreement"]) + "  KL " +
         std::to_string(row["kl_nats"].get<double>()) + "  nll " +
         std::to_string(row["nll_packed"].get<double>()) + " (exact " +
         std::to_string(row["nll_exact"].get<double>()) + ")  cache " +
         format_bytes(row["cache"]["kv_bytes"]) + " of " +
         format_bytes(row["cache"]["kv_bytes_fp16"]) + "\n";
}

Result<void> eval_each(const EvalOptions& options, Console& console, const MeasureFn& measure,
                       TextFn text_of) {
  SATCHEL_TRY_ASSIGN(const auto variants, variants_of(options.recipes, options.keeps));
  SATCHEL_TRY_ASSIGN(const auto engine,
                     open_engine(options.common, console,
                                 resolve_model(standard_paths({}), options.common.model)));
  Json rows = Json::array();
  for (const Variant& variant : variants) {
    SATCHEL_TRY_ASSIGN(Json row, measure(*engine, variant));
    if (!console.json()) console.data(text_of(row));
    rows.push_back(std::move(row));
  }
  if (console.json())
    console.document({{"schema", 1},
                      {"model", engine->config().name},
                      {"device", engine->device()},
                      {"rows", rows}});
  return {};
}

Result<void> eval_text(const EvalOptions& options, Console& console) {
  if (!options.answers.empty() || options.without_notes)
    return Error{ErrorKind::invalid, "PARAM",
                 "--answers and --without-notes go with --recall or --needles."};
  SATCHEL_TRY_ASSIGN(const std::string text, read_text_file(options.text));
  return eval_each(
      options, console,
      [&](runtime::Engine& engine, const Variant& variant) {
        return fidelity_row(engine, variant, options, text);
      },
      fidelity_text);
}

// nullptr where answers are not kept.
Result<std::unique_ptr<AnswerSheet>> open_sheet(const EvalOptions& options) {
  if (options.answers.empty()) return std::unique_ptr<AnswerSheet>();
  return AnswerSheet::open(options.answers);
}

Result<void> eval_recall(const EvalOptions& options, Console& console) {
  SATCHEL_TRY_ASSIGN(const auto conversations, chosen_conversations(options.recall));
  SATCHEL_TRY_ASSIGN(const std::unique_ptr<AnswerSheet> sheet, open_sheet(options));
  const RecallTask task{conversations, options.without_notes, sheet.get()};
  SATCHEL_TRY(eval_each(
      options, console,
      [&](runtime::Engine& engine, const Variant& variant) {
        return measure_recall(engine, variant, task);
      },
      recall_text));
  return sheet ? sheet->finish() : Result<void>();
}

Result<void> eval_needles(const EvalOptions& options, Console& console) {
  SATCHEL_TRY_ASSIGN(const auto contexts, read_needles_file(options.needles));
  SATCHEL_TRY_ASSIGN(const std::unique_ptr<AnswerSheet> sheet, open_sheet(options));
  const NeedleQuestions questions{contexts, options.without_notes, sheet.get()};
  SATCHEL_TRY(eval_each(
      options, console,
      [&](runtime::Engine& engine, const Variant& variant) {
        return needles_row(engine, variant, questions);
      },
      needles_text));
  return sheet ? sheet->finish() : Result<void>();
}

Result<void> run(const EvalOptions& options, Console& console) {
  const std::string* given[] = {&options.text, &options.recall.file, &options.needles};
  if (std::ranges::count_if(given, [](const auto* file) { return !file->empty(); }) != 1)
    return Error{ErrorKind::invalid, "PARAM",
                 "Give one of --text FILE, --recall FILE and --needles FILE."};
  if (!options.text.empty()) return eval_text(options, console);
  return options.needles.empty() ? eval_recall(options, console) : eval_needles(options, console);
}

void add_recall_options(CLI::App& command, RecallOptions& options) {
  CLI::Option* recall = command
                            .add_option("--recall", options.file,
                                        "Questions about notes, one conversation a line (JSON)")
                            ->type_name("FILE");
  command
      .add_option("--sets", options.sets,
                  "Of the questions, only those of these sets; default: all")
      ->delimiter(',')
      ->needs(recall);
  command.add_option("--conversations", options.n_conversations, "Of each set at most; 0: all")
      ->needs(recall)
      ->capture_default_str();
}

void add_question_options(CLI::App& command, EvalOptions& options) {
  add_recall_options(command, options.recall);
  command
      .add_option("--needles", options.needles,
                  "Contexts with names to find again, one a line (JSON), without a chat format")
      ->type_name("FILE");
  command
      .add_option("--answers", options.answers,
                  "Writes what was answered, one judged question a line (JSON)")
      ->type_name("FILE");
  command.add_flag("--without-notes", options.without_notes,
                   "Asks without reading notes or contexts: what can be guessed");
}

}  // namespace

void add_eval(CLI::App& app, const Choose& choose) {
  auto options = std::make_shared<EvalOptions>();
  CLI::App* command = app.add_subcommand("eval", "What a recipe costs in accuracy, measured");
  command
      ->add_option("--text", options->text,
                   "Next-token agreement and KL against the exact cache on this text")
      ->type_name("FILE");
  add_question_options(*command, *options);
  command->add_option("--recipes", options->recipes, "Presets or recipes")
      ->delimiter(',')
      ->capture_default_str();
  command
      ->add_option("--keep", options->keeps,
                   "Shares of a prompt's tokens to keep, each recipe at each; default: the "
                   "recipe's own. A recipe that evicts nothing is measured once")
      ->delimiter(',')
      ->check(CLI::Range(0.01, 1.0));
  command->add_option("--tokens", options->n_tokens, "Of the text")->capture_default_str();
  command->add_option("--prompt-tokens", options->n_prompt, "Of them, read as one prompt")
      ->capture_default_str();
  add_output_options(*command, options->common);
  add_model_options(*command, options->common);
  command->callback([=] {
    choose([=] {
      Console console(options->common.json, options->common.quiet);
      const Result<void> done = run(*options, console);
      return done.ok() ? int{kExitOk} : console.fail(done.error());
    });
  });
}

}  // namespace satchel::app
