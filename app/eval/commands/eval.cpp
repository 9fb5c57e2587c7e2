// `satchel eval`: what a recipe costs in accuracy, measured. A command each for what is asked; each
// gives a row for every recipe at every share.
#include "app/eval/commands/commands.h"
#include "app/eval/commands/evaluate.h"

namespace satchel::app {

void add_eval(CLI::App& app, const Choose& choose) {
  CLI::App* eval = app.add_subcommand("eval", "Measure what recipes cost in accuracy");
  eval->require_subcommand(1);
  add_eval_recall(*eval, choose);
  add_eval_needle(*eval, choose);
  add_eval_agreement(*eval, choose);
  add_eval_longbench(*eval, choose);
  add_eval_pareto(*eval, choose);
}

}  // namespace satchel::app
