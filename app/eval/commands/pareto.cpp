// `satchel eval pareto`: a sweep over recipes and shares; what each point holds in bytes, against
// what it still knows.
#include <algorithm>
#include <memory>

#include "app/cli/text_table.h"
#include "app/eval/commands/evaluate.h"
#include "app/eval/commands/pareto_front.h"
#include "app/eval/commands/task_options.h"
#include "kernels/base/size_text.h"

namespace satchel::app {
namespace {

struct ParetoOptions {
  EvalOptions eval;
  std::vector<std::string> tasks = {"recall"};
  bool of_body = false;
  RecallOptions recall;
  NeedleOptions needle;
  LongBenchOptions longbench;
  AgreementOptions agreement;
};

Error needs(const std::string& task, const std::string& option) {
  return {ErrorKind::invalid, "PARAM", "--tasks " + task + " needs " + option + "."};
}

Result<TaskPtr> task_of(const std::string& name, const ParetoOptions& options) {
  if (name == "recall") return make_recall_task(options.recall);
  if (name == "needle") {
    NeedleOptions needle = options.needle;
    needle.question = options.recall.question;
    return make_needle_task(needle);
  }
  if (name == "longbench") {
    if (options.longbench.files.empty()) return needs(name, "--longbench FILE");
    LongBenchOptions longbench = options.longbench;
    longbench.question = options.recall.question;
    return make_longbench_task(longbench);
  }
  if (options.agreement.texts.empty()) return needs(name, "--text FILE");
  return make_agreement_task(options.agreement);
}

// What is held, of fp16; of_body: what is neither sink nor tail, on both sides. A recipe with a
// short tail holds more of its text in the body, which is counted.
double bytes_share(const Row& row, bool of_body) {
  const Held& held = row.all.held;
  const std::size_t bytes = of_body ? held.body_bytes : held.bytes;
  const std::size_t fp16_bytes = of_body ? held.body_fp16_bytes : held.fp16_bytes;
  return fp16_bytes == 0 ? 1 : static_cast<double>(bytes) / static_cast<double>(fp16_bytes);
}

// One task's rows, as one measure sees them.
std::vector<ParetoPoint> points_seen_by(std::span<const Row> rows, std::size_t measure,
                                        bool of_body) {
  std::vector<ParetoPoint> points;
  for (const Row& row : rows)
    points.push_back(
        {.bytes_share = bytes_share(row, of_body), .value = row.all.estimates[measure].mean});
  mark_front(points, rows.front().task->measures()[measure]);
  return points;
}

// A task with its rows and, for each measure that is plotted, their points.
struct Sweep {
  std::span<const Row> rows;
  bool of_body = false;
  std::vector<std::size_t> measures;
  std::vector<std::vector<ParetoPoint>> points;  // [measures][rows]
};

std::vector<Sweep> sweeps_of(const Evaluated& done, std::size_t n_tasks, bool of_body) {
  std::vector<Sweep> sweeps;
  const std::size_t n = done.variants.size();
  for (std::size_t task = 0; task < n_tasks; ++task) {
    Sweep sweep{.rows = std::span(done.rows).subspan(task * n, n),
                .of_body = of_body,
                .measures = {},
                .points = {}};
    const auto measures = sweep.rows.front().task->measures();
    for (std::size_t i = 0; i < measures.size(); ++i) {
      if (measures[i].shown != Shown::in_plots) continue;
      sweep.measures.push_back(i);
      sweep.points.push_back(points_seen_by(sweep.rows, i, of_body));
    }
    sweeps.push_back(std::move(sweep));
  }
  return sweeps;
}

std::string table_of(const Sweep& sweep) {
  const Task& task = *sweep.rows.front().task;
  std::vector<Cells> table = {
      {std::string(task.name()), "keep", sweep.of_body ? "body of fp16" : "of fp16", "cache"}};
  for (const std::size_t measure : sweep.measures) {
    table[0].push_back(task.measures()[measure].name);
    table[0].push_back("");
  }
  std::vector<std::size_t> order(sweep.rows.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return bytes_share(sweep.rows[a], sweep.of_body) < bytes_share(sweep.rows[b], sweep.of_body);
  });
  for (const std::size_t at : order) {
    const Row& row = sweep.rows[at];
    Cells cells = {row.variant->name, short_percent(row.variant->recipe.keep()),
                   short_percent(bytes_share(row, sweep.of_body)), size_text(row.all.held.bytes)};
    for (std::size_t i = 0; i < sweep.measures.size(); ++i) {
      const std::size_t measure = sweep.measures[i];
      cells.push_back(estimate_text(task.measures()[measure], row.all.estimates[measure]));
      cells.push_back(sweep.points[i][at].front ? "*" : "");
    }
    table.push_back(std::move(cells));
  }
  return aligned(table);
}

Json points_of(const Sweep& sweep) {
  Json points = Json::array();
  for (std::size_t i = 0; i < sweep.measures.size(); ++i)
    for (std::size_t at = 0; at < sweep.rows.size(); ++at) {
      const Row& row = sweep.rows[at];
      const ParetoPoint& point = sweep.points[i][at];
      const std::optional<double>& se = row.all.estimates[sweep.measures[i]].se;
      points.push_back({{"task", row.task->name()},
                        {"measure", row.task->measures()[sweep.measures[i]].name},
                        {"recipe", row.variant->name},
                        {"keep", row.variant->recipe.keep()},
                        {"kv_bytes", row.all.held.bytes},
                        {"kv_bytes_fp16", row.all.held.fp16_bytes},
                        {sweep.of_body ? "body_share" : "kv_share", point.bytes_share},
                        {"value", point.value},
                        {"se", se ? Json(*se) : Json()},
                        {"front", point.front}});
    }
  return points;
}

// What each measure that is plotted is called.
Json panels_of(const Sweep& sweep) {
  Json panels = Json::array();
  for (const std::size_t measure : sweep.measures) {
    const Measure& of = sweep.rows.front().task->measures()[measure];
    panels.push_back({{"task", sweep.rows.front().task->name()},
                      {"measure", of.name},
                      {"label", of.label.empty() ? of.name : of.label},
                      {"is_share", of.is_share}});
  }
  return panels;
}

void show(const Evaluated& done, const std::vector<Sweep>& sweeps, const ParetoOptions& options,
          Console& console) {
  if (!console.json()) {
    for (const Sweep& sweep : sweeps) console.data(table_of(sweep) + "\n");
    console.data("* on the Pareto front: no smaller cache scores as well.\n");
    return;
  }
  Json rows = Json::array(), points = Json::array(), panels = Json::array();
  for (const Row& row : done.rows) rows.push_back(to_json(row));
  for (const Sweep& sweep : sweeps) {
    for (Json& point : points_of(sweep)) points.push_back(std::move(point));
    for (Json& panel : panels_of(sweep)) panels.push_back(std::move(panel));
  }
  console.document({{"schema", 2},
                    {"model", done.model},
                    {"device", done.device},
                    {"lane_table", done.lane_table},
                    {"keeps", options.eval.keeps},
                    {"of_body", options.of_body},
                    {"panels", panels},
                    {"points", points},
                    {"rows", rows}});
}

Result<void> run_pareto(const ParetoOptions& options, Console& console) {
  std::vector<TaskPtr> tasks;
  for (const std::string& name : options.tasks) {
    SATCHEL_TRY_ASSIGN(tasks.emplace_back(), task_of(name, options));
  }
  SATCHEL_TRY_ASSIGN(const Evaluated done, measure_tasks(options.eval, tasks, console));
  show(done, sweeps_of(done, tasks.size(), options.of_body), options, console);
  return {};
}

void add_sweep_options(CLI::App& command, ParetoOptions& options) {
  command
      .add_option("--tasks", options.tasks, "Tasks to run: recall, needle, agreement, longbench")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"recall", "needle", "agreement", "longbench"}))
      ->capture_default_str();
  command.add_flag("--body", options.of_body,
                   "Count only the compressed body, without the exact first and newest tokens of "
                   "each recipe");
  command
      .add_option("--questions", options.recall.file,
                  "For recall: file of questions about notes; default: the bundled model's")
      ->type_name("FILE");
  add_question_options(command, options.recall);
  CLI::Option* needles = command
                             .add_option("--needles", options.needle.file,
                                         "For needle: your own contexts instead of generated texts")
                             ->type_name("FILE");
  add_made_options(command, options.needle, needles);
  command.add_option("--longbench", options.longbench.files, "For longbench: its published files")
      ->type_name("FILE");
  command
      .add_option("--text", options.agreement.texts,
                  "For agreement: text files to score by teacher forcing")
      ->type_name("FILE");
  add_scoring_options(command, options.agreement);
}

}  // namespace

void add_eval_pareto(CLI::App& eval, const Choose& choose) {
  const auto options = std::make_shared<ParetoOptions>();
  options->eval.recipes = {"full", "satchel", "kvzip", "snapkv", "streamingllm", "random"};
  options->eval.keeps = {0.5, 0.25, 0.1};
  CLI::App* command = eval.add_subcommand(
      "pareto", "Sweep recipes and shares of tokens: cache size against quality");
  add_sweep_options(*command, *options);
  add_eval_options(*command, options->eval);
  on_run(*command, choose, options, run_pareto);
}

}  // namespace satchel::app
