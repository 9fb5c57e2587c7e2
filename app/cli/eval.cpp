// `satchel eval`: what a recipe costs in accuracy, measured: next-token agreement and KL on a text,
// recall on questions.
#include <memory>
#include <vector>

#include "app/cli/commands.h"
#include "app/cli/exit_codes.h"
#include "app/cli/interrupt.h"
#include "app/cli/recall.h"
#include "app/cli/workbench.h"
#include "runtime/governor/presets.h"
#include "runtime/measure/measure.h"

namespace satchel::app {
namespace {

struct EvalOptions {
  Options common;
  std::vector<std::string> recipes = {"full", "balanced", "compact", "extreme"};
  std::string text;
  std::size_t n_tokens = 2000, n_prompt = 1500;
  RecallOptions recall;
};

Result<Json> on_text(runtime::Engine& engine, const EvalOptions& options, const std::string& name) {
  SATCHEL_TRY_ASSIGN(const kvcache::Recipe recipe, runtime::resolve_recipe(name));
  SATCHEL_TRY_ASSIGN(const std::string text, read_text_file(options.text));
  SATCHEL_TRY_ASSIGN(std::vector<std::int32_t> ids,
                     engine.tokenizer().encode(text, runtime::SpecialText::as_text));
  if (ids.size() < options.n_tokens)
    return Error{ErrorKind::invalid, "PARAM",
                 "\"" + options.text + "\" has " + with_thousands(ids.size()) +
                     " tokens, --tokens asks for " + with_thousands(options.n_tokens) + "."};
  ids.resize(options.n_tokens);
  SATCHEL_TRY_ASSIGN(
      const runtime::TextFidelity measured,
      runtime::measure_on_text(engine, recipe, ids, options.n_prompt, begin_interruptible()));
  const kvcache::CacheStats& stats = measured.stats;
  return Json{{"recipe", name},
              {"tokens", options.n_tokens},
              {"prompt_tokens", options.n_prompt},
              {"compared_tokens", measured.fidelity.n_tokens},
              {"agreement", measured.fidelity.agreement},
              {"kl_nats", measured.fidelity.kl},
              {"nll_exact", measured.exact_nll},
              {"nll_packed", measured.packed_nll},
              {"cache", to_json(stats)}};
}

std::string fidelity_text(const Json& row) {
  std::string text = row["recipe"];
  text.resize(14, ' ');
  return text + "agreement " + format_percent(row["agreement"]) + "  KL " +
         std::to_string(row["kl_nats"].get<double>()) + "  nll " +
         std::to_string(row["nll_packed"].get<double>()) + " (exact " +
         std::to_string(row["nll_exact"].get<double>()) + ")  cache " +
         format_bytes(row["cache"]["kv_bytes"]) + " of " +
         format_bytes(row["cache"]["kv_bytes_fp16"]) + "\n";
}

Result<std::unique_ptr<runtime::Engine>> open_chosen(const EvalOptions& options, Console& console) {
  return open_engine(options.common, console,
                     resolve_model(standard_paths({}), options.common.model));
}

void show(const runtime::Engine& engine, const Json& rows, Console& console) {
  if (console.json())
    console.document({{"schema", 1},
                      {"model", engine.config().name},
                      {"device", engine.device()},
                      {"rows", rows}});
}

Result<void> eval_text(const EvalOptions& options, Console& console) {
  SATCHEL_TRY_ASSIGN(const auto engine, open_chosen(options, console));
  Json rows = Json::array();
  for (const std::string& recipe : options.recipes) {
    SATCHEL_TRY_ASSIGN(Json row, on_text(*engine, options, recipe));
    if (!console.json()) console.data(fidelity_text(row));
    rows.push_back(std::move(row));
  }
  show(*engine, rows, console);
  return {};
}

Result<void> eval_recall(const EvalOptions& options, Console& console) {
  SATCHEL_TRY_ASSIGN(const auto conversations, chosen_conversations(options.recall));
  std::unique_ptr<AnswerSheet> sheet;
  if (!options.recall.answers.empty()) {
    SATCHEL_TRY_ASSIGN(sheet, AnswerSheet::open(options.recall.answers));
  }
  SATCHEL_TRY_ASSIGN(const auto engine, open_chosen(options, console));
  const RecallTask task{conversations, options.recall.without_notes, sheet.get()};
  Json rows = Json::array();
  for (const std::string& recipe : options.recipes) {
    SATCHEL_TRY_ASSIGN(Json row, measure_recall(*engine, recipe, task));
    if (!console.json()) console.data(recall_text(row));
    rows.push_back(std::move(row));
  }
  if (sheet) SATCHEL_TRY(sheet->finish());
  show(*engine, rows, console);
  return {};
}

Result<void> run(const EvalOptions& options, Console& console) {
  if (options.text.empty() == options.recall.file.empty())
    return Error{ErrorKind::invalid, "PARAM", "Give either --text FILE or --recall FILE."};
  return options.text.empty() ? eval_recall(options, console) : eval_text(options, console);
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
  command
      .add_option("--answers", options.answers,
                  "Writes what was answered, one judged question a line (JSON)")
      ->type_name("FILE")
      ->needs(recall);
  command
      .add_flag("--without-notes", options.without_notes,
                "Asks without reading the notes: what can be guessed")
      ->needs(recall);
}

}  // namespace

void add_eval(CLI::App& app, const Choose& choose) {
  auto options = std::make_shared<EvalOptions>();
  CLI::App* command = app.add_subcommand("eval", "What a recipe costs in accuracy, measured");
  command
      ->add_option("--text", options->text,
                   "Next-token agreement and KL against the exact cache on this text")
      ->type_name("FILE");
  add_recall_options(*command, options->recall);
  command->add_option("--recipes", options->recipes, "Presets or recipes")
      ->delimiter(',')
      ->capture_default_str();
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
