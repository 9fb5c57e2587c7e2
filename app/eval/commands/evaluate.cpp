#include "app/eval/commands/evaluate.h"

#include <algorithm>
#include <memory>

#include "app/cli/model_profile.h"
#include "app/cli/workbench.h"
#include "app/eval/commands/atomic_file.h"
#include "app/eval/commands/commands.h"
#include "app/eval/commands/lane_search.h"
#include "kvcache/recipes/pipeline.h"

namespace satchel::app {
namespace {

// nullptr where results are not logged.
Result<std::unique_ptr<EvalLog>> open_log(const EvalOptions& options, Console& console) {
  if (options.log.empty()) return std::unique_ptr<EvalLog>();
  return EvalLog::open(options.log, console);
}

void write_answers(std::span<const TaskPtr> tasks, std::span<const Variant> variants,
                   std::span<const Record> records, AtomicFile& sheet) {
  for (std::size_t variant = 0; variant < variants.size(); ++variant)
    for (const Record& record : records) {
      if (record.unit.variant != variant) continue;
      const Task& task = *tasks[record.unit.task];
      const Item& item = task.items()[record.unit.item];
      for (const Grade& grade : record.measured.grades) {
        Json line = {{"task", task.name()},
                     {"recipe", variants[variant].name},
                     {"keep", variants[variant].recipe.keep()},
                     {"set", item.set},
                     {"item", item.name},
                     {"kind", grade.kind}};
        line.update(grade.detail);
        for (std::size_t i = 0; i < grade.sums.size(); ++i)
          line[task.measures()[i].name] = grade.n > 0 ? grade.sums[i] / grade.n : 0;
        sheet.add(line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
      }
    }
}

// What was made on this machine may be another than what figures elsewhere were measured with.
Json tell_head_budgets(const EvalOptions& options, const runtime::Engine& engine,
                       Console& console) {
  const auto in_use = head_budgets_in_use(standard_paths(options.common.store).profiles,
                                          engine.fingerprint(), engine.config());
  if (in_use.found.from == runtime::ProfileFrom::folder)
    console.note("Head budgets: " + describe(in_use));
  return to_json(in_use);
}

}  // namespace

void add_eval_options(CLI::App& command, EvalOptions& options) {
  add_variant_options(command, options.recipes, options.keeps);
  for (const char* name : {"--recipes", "--keep"})  // a FILE may come after it
    command.get_option(name)->allow_extra_args(false);
  command
      .add_option("--log", options.log,
                  "Log every result to this file; the same command then continues where it was "
                  "stopped")
      ->type_name("FILE");
  command
      .add_option("--answers", options.answers,
                  "Write every judged answer to this file, one JSON object per line")
      ->type_name("FILE");
  add_output_options(command, options.common);
  add_model_options(command, options.common);
}

// Of the run, that change what is measured.
Json run_settings(const Options& options, const runtime::Engine& engine) {
  const auto& lanes = engine.config().head_budgets;
  Json out = {{"backend", engine.backend()},
              {"template", options.chat_template},
              {"lanes", lanes == nullptr ? "" : lanes->json()}};
  if (options.activations != Options{}.activations) out["activations"] = options.activations;
  return out;
}

Result<Evaluated> measure_tasks(const EvalOptions& options, std::span<const TaskPtr> tasks,
                                Console& console) {
  Evaluated out;
  SATCHEL_TRY_ASSIGN(out.variants, variants_of(options.recipes, options.keeps));
  SATCHEL_TRY_ASSIGN(const auto sheet, AtomicFile::open_if_named(options.answers));
  SATCHEL_TRY_ASSIGN(const std::unique_ptr<EvalLog> log, open_log(options, console));
  SATCHEL_TRY_ASSIGN(const auto engine, open_engine(options.common, console));
  out.model = engine->config().name;
  out.device = engine->device();
  // Before hours of measuring the others.
  for (const Variant& variant : out.variants)
    SATCHEL_TRY(variant.recipe.pipeline().check(engine->config().cache_shape()));
  for (const TaskPtr& task : tasks) SATCHEL_TRY(task->prepare(*engine));
  for (const Variant& variant : out.variants)
    SATCHEL_TRY(ensure_head_budgets(*engine, variant.recipe, console));
  if (std::ranges::any_of(out.variants, needs_head_budgets, &Variant::recipe))
    out.lane_table = tell_head_budgets(options, *engine, console);
  SATCHEL_TRY_ASSIGN(const std::vector<Record> records,
                     measure_units({.engine = *engine,
                                    .tasks = tasks,
                                    .variants = out.variants,
                                    .settings = run_settings(options.common, *engine),
                                    .log = log.get(),
                                    .console = console}));
  out.rows = rows_of(tasks, out.variants, records);
  if (sheet == nullptr) return out;
  write_answers(tasks, out.variants, records, *sheet);
  SATCHEL_TRY(sheet->finish());
  return out;
}

void write_rows(const Evaluated& done, const Json& rows, Console& console) {
  console.document({{"schema", 2},
                    {"model", done.model},
                    {"device", done.device},
                    {"lane_table", done.lane_table},
                    {"rows", rows}});
}

Result<void> evaluate(const EvalOptions& options, std::span<const TaskPtr> tasks,
                      Console& console) {
  SATCHEL_TRY_ASSIGN(const Evaluated done, measure_tasks(options, tasks, console));
  if (!console.json()) {
    console.data(table_of(done.rows));
    return {};
  }
  Json rows = Json::array();
  for (const Row& row : done.rows) rows.push_back(to_json(row));
  write_rows(done, rows, console);
  return {};
}

void add_eval(CLI::App& app, const Choose& choose) {
  CLI::App* eval = app.add_subcommand("eval", "Measure what recipes cost in accuracy");
  eval->require_subcommand(1);
  add_eval_recall(*eval, choose);
  add_eval_needle(*eval, choose);
  add_eval_agreement(*eval, choose);
  add_eval_longbench(*eval, choose);
  add_eval_chat(*eval, choose);
  add_eval_live(*eval, choose);
  add_eval_book(*eval, choose);
  add_eval_scbench(*eval, choose);
  add_eval_pareto(*eval, choose);
  add_eval_compose(*eval, choose);
  add_eval_prediction(*eval, choose);
}

}  // namespace satchel::app
