// `satchel profile`: finds the lanes of a model that do the remembering, and keeps the table.
#include <algorithm>
#include <memory>
#include <numeric>
#include <vector>

#include "app/cli/on_run.h"
#include "app/cli/workbench.h"
#include "app/eval/commands/atomic_file.h"
#include "app/eval/commands/commands.h"
#include "app/eval/commands/lane_search.h"
#include "app/eval/commands/text_files.h"
#include "app/eval/lane_rules/lane_rule.h"
#include "kernels/base/size_text.h"
#include "runtime/profile/correlation.h"
#include "runtime/profile/profile_files.h"

namespace satchel::app {
namespace {

using kvcache::HeadBudgets;

struct ProfileOptions {
  Options common;
  std::string rule{eval::lane_rules().front()->name};  // --rule
  std::vector<std::string> texts;                      // --texts; empty: those that ship
  std::string output;                                  // --output; "" is not given
};

// Of the shares that every two texts give the lanes.
std::vector<double> correlations(std::span<const HeadBudgets> texts, std::size_t row) {
  std::vector<double> out;
  for (std::size_t i = 0; i < texts.size(); ++i)
    for (std::size_t j = i + 1; j < texts.size(); ++j)
      out.push_back(
          runtime::correlation(texts[i].rows[row].shares, texts[j].rows[row].shares).value_or(1));
  return out;
}

// What part of a row's tokens its n fullest lanes hold.
double held_by_fullest(const HeadBudgets::Row& row, std::size_t n) {
  std::vector<double> shares = row.shares;
  std::sort(shares.begin(), shares.end(), std::greater<>());
  const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
  n = std::min(n, shares.size());
  return all > 0 ? std::accumulate(shares.begin(), shares.begin() + std::ptrdiff_t(n), 0.0) / all
                 : 0;
}

Json report(const HeadBudgets& table, std::span<const HeadBudgets> texts, std::string_view rule) {
  Json rows = Json::array();
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    const std::vector<double> pairs = correlations(texts, r);
    const double sum = std::accumulate(pairs.begin(), pairs.end(), 0.0);
    const double least = pairs.empty() ? 1 : std::min(1.0, std::ranges::min(pairs));
    Json fullest = Json::object();
    for (const std::size_t part : {10u, 5u, 3u})  // a tenth, a fifth and a third of the lanes
      fullest["1/" + std::to_string(part)] =
          held_by_fullest(table.rows[r], std::max<std::size_t>(1, table.n_lanes() / part));
    rows.push_back({{"keep", table.rows[r].keep},
                    {"correlation_mean", pairs.empty() ? 1 : sum / double(pairs.size())},
                    {"correlation_least", least},
                    {"held_by_fullest", fullest},
                    {"lanes", table.rows[r].shares}});
  }
  Json names = Json::array();
  for (const HeadBudgets& text : texts) names.push_back(text.source);
  return Json{{"schema", 1},        {"model", table.model},     {"rule", rule},
              {"name", table.name}, {"lanes", table.n_lanes()}, {"texts", names},
              {"rows", rows}};
}

std::string report_text(const Json& report) {
  std::string text = report["name"].get<std::string>() + ": " +
                     std::to_string(report["lanes"].get<std::size_t>()) +
                     " KV heads, profiled by " + report["rule"].get<std::string>() + " on " +
                     std::to_string(report["texts"].size()) +
                     (report["texts"].size() == 1 ? " text\n" : " texts\n");
  for (const Json& row : report["rows"]) {
    text += "  with " + format_percent(row["keep"]) +
            " kept, the top tenth, fifth and third of the heads hold " +
            format_percent(row["held_by_fullest"]["1/10"]) + ", " +
            format_percent(row["held_by_fullest"]["1/5"]) + " and " +
            format_percent(row["held_by_fullest"]["1/3"]);
    if (report["texts"].size() > 1)
      text += "; correlation between texts " + fixed_text(row["correlation_mean"], 2) +
              " (lowest " + fixed_text(row["correlation_least"], 2) + ")";
    text += "\n";
  }
  if (report.contains("agreement"))
    text += "  key importance: agrees with KVzip on an unseen text to " +
            fixed_text(report["agreement"], 2) +
            (report["learned"] ? "" : "; too low, so it is not used") + "\n";
  return text;
}

Result<void> run(const ProfileOptions& options, Console& console) {
  const eval::LaneRule* rule = eval::find_lane_rule(options.rule);
  if (rule == nullptr)
    return Error{
        ErrorKind::invalid, "PARAM",
        "Unknown rule \"" + options.rule + "\". Available rules: " + eval::lane_rule_names() + "."};
  TextFiles texts;
  SATCHEL_TRY(read_text_files(options.texts, texts));
  SATCHEL_TRY_ASSIGN(const auto file, AtomicFile::open_if_named(options.output));
  SATCHEL_TRY_ASSIGN(const auto engine, open_engine(options.common, console));
  const SystemClock clock;
  const double began = clock.steady_ms();
  SATCHEL_TRY_ASSIGN(const eval::LaneFindings found,
                     profile_lanes(*engine, *rule, texts.list, console));
  const double took_ms = clock.steady_ms() - began;
  if (file != nullptr) file->add(found.table.json());
  const Result<void> kept =
      file != nullptr ? file->finish() : engine->set_head_budgets(found.table);
  Json document = report(found.table, found.of_texts, rule->name);
  document["took_ms"] = took_ms;
  if (found.agreement) document["agreement"] = *found.agreement;
  document["learned"] = found.table.importance.has_value();
  // What was found is shown, also where it could not be kept.
  if (!console.json()) {
    console.data(report_text(document));
  } else if (kept.ok()) {
    console.document(document);
  }
  SATCHEL_TRY(kept);
  const auto own = runtime::head_budgets_file(standard_paths({}).profiles, engine->fingerprint());
  console.note("Took " + duration_text(took_ms) + ". Saved to \"" +
               (options.output.empty() ? own.string() : options.output) + "\".");
  if (options.texts.size() == 1)
    console.warning(
        "Profiled on one text. Budgets made from several texts suit other texts better.");
  if (options.output.empty())
    console.note(
        "From now on, Satchel uses this profile for this model. Delete the file to undo this.");
  if (options.output.empty() && rule != eval::lane_rules().front())
    console.note(
        "The presets were measured with profiles made by " +
        std::string(eval::lane_rules().front()->name) +
        ". A profile made by another rule may lose much more (docs/recipes.md); measure it "
        "with \"satchel eval\".");
  return {};
}

std::string about_rules() {
  std::string text;
  for (const eval::LaneRule* rule : eval::lane_rules())
    text += "\n" + std::string(rule->name) + ": " + std::string(rule->about);
  return text;
}

}  // namespace

void add_profile(CLI::App& app, const Choose& choose) {
  auto options = std::make_shared<ProfileOptions>();
  CLI::App* command = app.add_subcommand("profile", "Measure per-head cache budgets for a model");
  command->add_option("--rule", options->rule, "How to measure them:" + about_rules())
      ->type_name("NAME")
      ->capture_default_str();
  command
      ->add_option("--texts", options->texts,
                   "Text files to profile on instead of the included texts; for the rules " +
                       eval::lane_rules_that_read_texts())
      ->type_name("FILE");
  add_output_file(*command, options->output,
                  "Write the profile to this file instead of using it for this model");
  add_output_options(*command, options->common);
  add_model_options(*command, options->common);
  on_run(*command, choose, options, run);
}

}  // namespace satchel::app
