// `satchel bench blocks`: a Block Transformer of made-up weights beside a plain one.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/interrupt.h"
#include "app/cli/on_run.h"
#include "app/cli/workbench.h"
#include "app/eval/block_transformer/blocks_meter.h"
#include "app/eval/commands/commands.h"
#include "app/eval/commands/variants.h"
#include "app/eval/measure/speed.h"
#include "kernels/base/size_text.h"
#include "kernels/registry/registry.h"

namespace satchel::app {
namespace {

struct BlocksOptions {
  Options common;
  std::vector<std::string> recipes = {"full", "balanced"};
  eval::BlocksRequest request;
  std::size_t rounds = 3;
};

Json row_of(const std::string& way, const Variant& variant,
            const std::vector<eval::BlocksFigures>& rounds) {
  std::vector<double> ms;
  for (const eval::BlocksFigures& round : rounds) ms.push_back(round.ms_per_token);
  const eval::BlocksFigures& of = rounds.front();
  return {{"model", way},
          {"recipe", variant.name},
          {"parameters", of.n_parameters},
          {"tokens", of.n_tokens},
          {"fp16_bytes_per_token", of.fp16_per_token},
          {"cache_bytes", of.cache_bytes},
          {"ms_per_token", eval::median(std::move(ms))}};
}

constexpr const char* kHead =
    "model    recipe       parameters  fp16 per token  cache held  a token\n";

std::string line_of(const Json& row) {
  return padded(row["model"], 9) + padded(row["recipe"], 13) +
         padded(count_text(row["parameters"].get<std::size_t>()), 12) +
         padded(fixed_text(row["fp16_bytes_per_token"], 0) + " bytes", 16) +
         padded(size_text(row["cache_bytes"]), 12) + duration_text(row["ms_per_token"]) + "\n";
}

Result<void> run(const BlocksOptions& options, Console& console) {
  SATCHEL_TRY_ASSIGN(const auto variants, variants_of(options.recipes, {}));
  SATCHEL_TRY_ASSIGN(
      kernels::ChosenBackend chosen,
      kernels::choose_backend(options.common.backend,
                              {.n_threads = options.common.threads,
                               .cpu_level = options.common.cpu_level,
                               .library_folders = standard_paths(options.common.store).backends}));
  const std::shared_ptr<kernels::Backend> backend = std::move(chosen.backend);
  const std::stop_token stop = begin_interruptible();
  Json rows = Json::array();
  if (!console.json()) console.data(kHead);
  for (const Variant& variant : variants) {
    std::vector<eval::BlocksFigures> plain, blocks;
    for (std::size_t i = 0; i < options.rounds; ++i)  // in turn: they meet the same machine
      for (const auto which : {eval::MeasuredModel::plain, eval::MeasuredModel::blocks}) {
        auto& to = which == eval::MeasuredModel::plain ? plain : blocks;
        SATCHEL_TRY_ASSIGN(to.emplace_back(), eval::measure_blocks(backend, which, variant.recipe,
                                                                   options.request, stop));
      }
    for (const bool is_plain : {true, false}) {
      rows.push_back(row_of(is_plain ? "plain" : "blocks", variant, is_plain ? plain : blocks));
      if (!console.json()) console.data(line_of(rows.back()));
    }
  }
  if (console.json())
    console.document({{"schema", 1}, {"device", std::string(backend->device())}, {"rows", rows}});
  return {};
}

}  // namespace

void add_bench_blocks(CLI::App& bench, const Choose& choose) {
  const auto options = std::make_shared<BlocksOptions>();
  CLI::App* command = bench.add_subcommand(
      "blocks", "Measure a Block Transformer of made-up weights beside a plain transformer");
  command->add_option("--before", options->request.n_before, "Tokens of the text before")
      ->check(whole_number(4, 1'000'000))
      ->capture_default_str();
  command->add_option("--decode", options->request.n_decode, "Tokens whose time is taken")
      ->check(whole_number(1, 100'000))
      ->capture_default_str();
  command->add_option("--recipes", options->recipes, "Recipes that only quantise")
      ->delimiter(',')
      ->capture_default_str();
  add_rounds_option(*command, options->rounds, "Measurements of each; the median is shown");
  add_output_options(*command, options->common);
  add_model_options(*command, options->common);
  on_run(*command, choose, options, run);
}

}  // namespace satchel::app
