// What every command of `satchel eval` has in common: its options, the run, rows to standard output.
// A command makes its options, its task (errors of files come here, before a model is opened), and
// calls evaluate().
#pragma once

#include <string>
#include <vector>

#include "app/cli/commands.h"
#include "app/cli/eval/rows.h"
#include "app/cli/options.h"

namespace satchel::app {

struct EvalOptions {
  Options common;
  std::vector<std::string> recipes = {"full", "balanced", "compact", "extreme"};
  std::vector<double> keeps;  // --keep; empty: each recipe's own
  std::string log, answers;   // --log, --answers; "" is not given
};
void add_eval_options(CLI::App& command, EvalOptions& options);

struct Evaluated {
  std::string model, device;
  std::vector<Variant> variants;
  std::vector<Row> rows;  // pointing into variants and the tasks
};
// Opens the model, prepares the tasks, measures every unit, writes --answers.
Result<Evaluated> measure(const EvalOptions& options, std::span<const TaskPtr> tasks,
                          Console& console);
// measure(), and its rows on standard output: a table, or under --json one document
// {"schema", "model", "device", "rows"}.
Result<void> evaluate(const EvalOptions& options, std::span<const TaskPtr> tasks, Console& console);

// Each command of `satchel eval` is a file that adds itself to it.
void add_eval_recall(CLI::App& eval, const Choose& choose);
void add_eval_needle(CLI::App& eval, const Choose& choose);
void add_eval_agreement(CLI::App& eval, const Choose& choose);
void add_eval_pareto(CLI::App& eval, const Choose& choose);

}  // namespace satchel::app
