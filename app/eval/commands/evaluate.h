// What every command of `satchel eval` has in common: its options, the run, rows to standard
// output. A command makes its options, its task (errors of files come here, before a model is
// opened), and calls evaluate().
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "app/cli/on_run.h"
#include "app/cli/options.h"
#include "app/eval/commands/rows.h"
#include "app/eval/commands/variants.h"

namespace satchel::app {

struct EvalOptions {
  Options common;
  std::vector<std::string> recipes = {"full", "balanced", "compact", "extreme"};
  std::vector<double> keeps;  // --keep; empty: each recipe's own
  std::string log, answers;   // --log, --answers; "" is not given
};
void add_eval_options(CLI::App& command, EvalOptions& options);

struct Evaluated {
  Evaluated() = default;
  Evaluated(Evaluated&&) = default;  // not copied: the rows point into it
  Evaluated& operator=(Evaluated&&) = default;

  std::string model, device;
  Json lane_table;  // in use; null where no recipe wants one
  std::vector<Variant> variants;
  std::vector<Row> rows;  // pointing into variants and the tasks
};
// Opens the model, prepares the tasks, measures every unit, writes --answers.
Result<Evaluated> measure_tasks(const EvalOptions& options, std::span<const TaskPtr> tasks,
                                Console& console);
// On standard output: {"schema", "model", "device", "lane_table", "rows"}.
void write_rows(const Evaluated& done, const Json& rows, Console& console);
// measure_tasks(), and its rows on standard output: a table, or under --json
// write_rows().
Result<void> evaluate(const EvalOptions& options, std::span<const TaskPtr> tasks, Console& console);

// A command of one task: the options of its own and of all evaluations, the task made of them,
// measured. `Own` is kept for as long as the command.
template <class Own>
CLI::App* add_task_command(CLI::App& eval, const Choose& choose, const std::string& name,
                           const std::string& about, void (*add_own)(CLI::App&, Own&),
                           Result<TaskPtr> (*make)(const Own&)) {
  struct Both {
    EvalOptions eval;
    Own own;
  };
  const auto options = std::make_shared<Both>();
  CLI::App* command = eval.add_subcommand(name, about);
  add_own(*command, options->own);
  add_eval_options(*command, options->eval);
  on_run(*command, choose, options, [make](const Both& given, Console& console) -> Result<void> {
    SATCHEL_TRY_ASSIGN(TaskPtr task, make(given.own));
    return evaluate(given.eval, {&task, 1}, console);
  });
  return command;
}

// Each command of `satchel eval` is a file that adds itself to it.
void add_eval_recall(CLI::App& eval, const Choose& choose);
void add_eval_needle(CLI::App& eval, const Choose& choose);
void add_eval_agreement(CLI::App& eval, const Choose& choose);
void add_eval_longbench(CLI::App& eval, const Choose& choose);
void add_eval_chat(CLI::App& eval, const Choose& choose);
void add_eval_live(CLI::App& eval, const Choose& choose);
void add_eval_book(CLI::App& eval, const Choose& choose);
void add_eval_scbench(CLI::App& eval, const Choose& choose);
void add_eval_pareto(CLI::App& eval, const Choose& choose);
void add_eval_compose(CLI::App& eval, const Choose& choose);
void add_eval_prediction(CLI::App& eval, const Choose& choose);

}  // namespace satchel::app
