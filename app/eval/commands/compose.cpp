// `satchel eval compose`: documents that were read apart, in an order of their own.
#include <memory>
#include <string>
#include <utility>

#include "app/cli/interrupt.h"
#include "app/cli/on_run.h"
#include "app/cli/workbench.h"
#include "app/eval/commands/composed_items.h"
#include "app/eval/commands/evaluate.h"
#include "kernels/base/size_text.h"

namespace satchel::app {
namespace {

using eval::RereadWay;

struct ComposeOptions {
  Options common;
  ComposedOptions items;
  std::size_t n_first = 32;             // EPIC's
  std::vector<double> shares = {0.15};  // CacheBlend's
  std::vector<double> alphas;           // Cache-Craft's
};

struct Way {
  std::string name;
  RereadWay way;
};

std::vector<Way> ways_of(const ComposeOptions& options) {
  using Of = RereadWay::Of;
  std::vector<Way> ways = {{"placed", {}}};
  ways.push_back({"first " + std::to_string(options.n_first) + " again",
                  {.of = Of::first, .n_first = options.n_first}});
  for (const double share : options.shares) {
    ways.push_back({format_percent(share) + " changed", {.of = Of::changed, .share = share}});
    ways.push_back({format_percent(share) + " asked for", {.of = Of::asked, .share = share}});
  }
  for (const double alpha : options.alphas)
    ways.push_back({"by context " + fixed_text(alpha, 2), {.of = Of::context, .share = alpha}});
  return ways;
}

double part(double sum, std::size_t n) {
  return n == 0 ? 0 : sum / static_cast<double>(n);
}

Json row_of(const std::string& name, const eval::ComposedFigures& of,
            const eval::ComposedFigures& reading, std::size_t n_items) {
  Json row = {{"way", name},
              {"first_token_ms", part(of.first_token_ms, n_items)},
              {"first_token_cpu_ms", part(of.first_token_cpu_ms, n_items)},
              {"times_reading", reading.first_token_cpu_ms / of.first_token_cpu_ms},
              {"read_again", part(of.reread, n_items)},
              {"questions", of.n_judged},
              {"right", part(static_cast<double>(of.n_right), of.n_judged)}};
  if (of.compared.n == 0) return row;  // reading itself
  row["compared_tokens"] = of.compared.n;
  row["same_token"] = of.compared.same();
  row["kl_nats"] = of.compared.kl();
  return row;
}

constexpr const char* kHead =
    "way                   first token   reading's   read again   right     same token   KL\n";

std::string line_of(const Json& row) {
  const auto percent = [&](const char* name) {
    return padded(row.contains(name) ? format_percent(row[name]) : "-", 13);
  };
  const std::size_t n_judged = row["questions"];
  return padded(row["way"], 22) + padded(duration_text(row["first_token_ms"]), 14) +
         padded("1/" + fixed_text(row["times_reading"], 1), 12) + percent("read_again") +
         padded(n_judged > 0 ? format_percent(row["right"]) : "-", 10) + percent("same_token") +
         (row.contains("kl_nats") ? fixed_text(row["kl_nats"], 4) : "-") + "\n";
}

Result<void> run(const ComposeOptions& options, Console& console) {
  SATCHEL_TRY_ASSIGN(const ComposedSource source, ComposedSource::open(options.items));
  SATCHEL_TRY_ASSIGN(const auto engine, open_engine(options.common, console));
  const std::stop_token stop = begin_interruptible();
  const std::vector<Way> ways = ways_of(options);
  std::vector<RereadWay> plain;
  for (const Way& way : ways) plain.push_back(way.way);
  std::vector<eval::ComposedFigures> sums(1 + ways.size(), eval::ComposedFigures{});
  for (std::size_t i = 0; i < source.n_items(); ++i) {
    console.status("text " + std::to_string(i + 1) + " of " + std::to_string(source.n_items()));
    SATCHEL_TRY_ASSIGN(const eval::Composition item, source.item(*engine, i));
    SATCHEL_TRY_ASSIGN(const std::vector<eval::ComposedFigures> figures,
                       eval::measure_composition(*engine, item, plain, stop));
    for (std::size_t j = 0; j < sums.size(); ++j) sums[j].add(figures[j]);
  }
  console.end_progress();
  Json rows = Json::array();
  if (!console.json()) console.data(kHead);
  for (std::size_t j = 0; j < sums.size(); ++j) {
    const std::string name = j == 0 ? "read in this order" : ways[j - 1].name;
    rows.push_back(row_of(name, sums[j], sums[0], source.n_items()));
    if (!console.json()) console.data(line_of(rows.back()));
  }
  if (console.json())
    console.document({{"schema", 1},
                      {"model", engine->config().name},
                      {"device", engine->device()},
                      {"texts", source.n_items()},
                      {"rows", rows}});
  return {};
}

}  // namespace

void add_eval_compose(CLI::App& eval, const Choose& choose) {
  const auto options = std::make_shared<ComposeOptions>();
  CLI::App* command = eval.add_subcommand(
      "compose", "Put documents together that were read apart, and compare with reading them so");
  add_composed_options(*command, options->items);
  command
      ->add_option("--first", options->n_first,
                   "Tokens at the beginning of each document to read again (EPIC)")
      ->check(whole_number())
      ->capture_default_str();
  command
      ->add_option("--share", options->shares,
                   "Shares of the documents' tokens to read again: those that changed most "
                   "(CacheBlend), those that the question looks at most")
      ->delimiter(',')
      ->check(share_range())
      ->capture_default_str();
  command
      ->add_option("--craft", options->alphas,
                   "Factors of Cache-Craft's rule: of a reading of all documents in their own "
                   "order, of each the more is read again, the more it depended on the others")
      ->delimiter(',')
      ->check(CLI::Range(0.0, 100.0))
      ->excludes(command->get_option("--edit"));
  add_output_options(*command, options->common);
  add_model_options(*command, options->common);
  on_run(*command, choose, options, run);
}

}  // namespace satchel::app
