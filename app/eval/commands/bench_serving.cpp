// `satchel bench serving`: what limits many long chats on this machine, in four metrics, each
// beside what the machine's limits would allow.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/cli/interrupt.h"
#include "app/cli/workbench.h"
#include "app/eval/commands/bench_command.h"
#include "app/eval/commands/book_text.h"
#include "app/eval/commands/commands.h"
#include "app/eval/commands/lane_search.h"
#include "app/eval/measure/serving.h"
#include "kernels/base/size_text.h"

namespace satchel::app {
namespace {

struct ServingOptions {
  Options common;
  std::vector<std::string> recipes = {"full", "balanced"};
  std::vector<double> keeps;
  std::size_t n_tokens = 4096, n_answer = 64, rounds = 1;
};

// The CPU's limits say nothing about a GPU.
eval::MachineLimits limits_of(const runtime::Engine& engine, const Options& options) {
  const std::size_t n_present = kernels::cpu_levels_present();
  if (engine.on_gpu() || n_present == 0) return {};
  const std::size_t n_threads = options.threads != 0
                                    ? options.threads
                                    : std::max<std::size_t>(std::thread::hardware_concurrency(), 1);
  const std::string level = options.cpu_level.empty()
                                ? std::string(kernels::cpu_level_names()[n_present - 1])
                                : options.cpu_level;
  return eval::measure_machine(n_threads, level != "avx2");
}

double median_of(const std::vector<eval::ResumeTimes>& rounds) {
  std::vector<double> values;
  for (const eval::ResumeTimes& round : rounds) values.push_back(round.open_ms + round.resume_ms);
  return eval::median(std::move(values));
}

Json or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json row_of(const runtime::Engine& engine, const Variant& variant, const eval::ServingSpec& spec,
            const eval::Serving& measured, const eval::MachineLimits& machine) {
  const eval::PossibleServing possible = eval::possible_serving(engine, spec, measured, machine);
  const eval::ResumeSpeed& switched = measured.switched;
  return Json{{"recipe", variant.name},
              {"keep", variant.recipe.keep()},
              {"depth", spec.n_tokens},
              {"rounds", spec.rounds},
              {"concurrency",
               {{"limit_bytes", spec.limit_bytes},
                {"chat_bytes", measured.stats.bytes},
                {"chat_bytes_fp16", measured.stats.fp16_bytes},
                {"chats", measured.n_chats},
                {"chats_fp16", possible.n_chats_fp16}}},
              {"prefill",
               {{"ms", measured.prefill_ms},
                {"flops", possible.prefill_flops},
                {"possible_ms", or_null(possible.prefill_ms)}}},
              {"decode",
               {{"ms_per_token", measured.decode_ms},
                {"weight_bytes", engine.weight_bytes()},
                {"kv_bytes", measured.stats.bytes},
                {"possible_ms", or_null(possible.decode_ms)}}},
              {"switch",
               {{"tokens", switched.n_tokens},
                {"out_ms", switched.save_ms},
                {"in_ms", median_of(switched.saved.warm)},
                {"bytes_on_disk", switched.saved.bytes_on_disk},
                {"reread_tokens", switched.saved.n_reread},
                {"possible_ms", possible.switch_ms}}},
              {"machine",
               {{"read_bytes_per_s", machine.read_bytes_per_s},
                {"fma_flops_per_s", machine.fma_flops_per_s}}},
              {"cache", to_json(measured.stats)}};
}

constexpr const char* kHead =
    "recipe             chats (fp16)     prefill (possible)    a token (possible)    "
    "switch: out + in (possible)\n";

std::string line_of(const Json& row) {
  const auto time = [](const Json& ms) { return ms.is_null() ? "-" : duration_text(ms); };
  const auto beside = [&](const std::string& measured, const Json& possible) {
    return measured + " (" + time(possible) + ")";
  };
  const Json &chats = row["concurrency"], &change = row["switch"];
  const std::string n_chats = count_text(chats["chats"].get<std::size_t>()) + " (" +
                              count_text(chats["chats_fp16"].get<std::size_t>()) + ")";
  return padded(row["recipe"], 19) + padded(n_chats, 17) +
         padded(beside(time(row["prefill"]["ms"]), row["prefill"]["possible_ms"]), 22) +
         padded(beside(time(row["decode"]["ms_per_token"]), row["decode"]["possible_ms"]), 22) +
         beside(time(change["out_ms"]) + " + " + time(change["in_ms"]), change["possible_ms"]) +
         "\n";
}

Result<eval::ServingSpec> spec_of(const ServingOptions& options, const runtime::Engine& engine) {
  SATCHEL_TRY_ASSIGN(const std::size_t asked, chosen_budget(options.common));
  eval::ServingSpec spec{.n_tokens = options.n_tokens,
                         .n_answer = options.n_answer,
                         .limit_bytes = asked,
                         .rounds = options.rounds};
  if (asked == 0) {
    SATCHEL_TRY_ASSIGN(spec.limit_bytes, engine.default_budget());
  }
  SATCHEL_TRY_ASSIGN(const eval::BookSpec book,
                     close_to_length({.n_facts = 1}, options.n_tokens, engine.tokenizer()));
  spec.text = eval::make_book(book).text;
  return spec;
}

Result<void> run(const ServingOptions& options, Console& console) {
  SATCHEL_TRY_ASSIGN(const auto variants, variants_of(options.recipes, options.keeps));
  SATCHEL_TRY_ASSIGN(const auto engine, open_engine(options.common, console));
  SATCHEL_TRY_ASSIGN(const eval::ServingSpec spec, spec_of(options, *engine));
  const eval::MachineLimits machine = limits_of(*engine, options.common);
  console.note(engine->config().name + " on " + engine->device() + ", chats of " +
               count_text(spec.n_tokens) + " tokens, limit " + size_text(spec.limit_bytes) +
               ", median of " + std::to_string(spec.rounds));
  if (machine.fma_flops_per_s > 0)
    console.note("This machine reads " +
                 size_text(static_cast<std::size_t>(machine.read_bytes_per_s)) +
                 " per second and makes " + fixed_text(machine.fma_flops_per_s / 1e9, 0) +
                 " GFLOPS in fp32.");
  Json rows = Json::array();
  if (!console.json()) console.data(kHead);
  for (const Variant& variant : variants) {
    SATCHEL_TRY(ensure_head_budgets(*engine, variant.recipe, console));
    SATCHEL_TRY_ASSIGN(const eval::Serving measured,
                       eval::measure_serving(*engine, variant.recipe, spec, begin_interruptible()));
    rows.push_back(row_of(*engine, variant, spec, measured, machine));
    if (!console.json()) console.data(line_of(rows.back()));
  }
  tell_rows(*engine, rows, console);
  return {};
}

}  // namespace

void add_bench_serving(CLI::App& bench, const Choose& choose) {
  const auto options = std::make_shared<ServingOptions>();
  CLI::App* command = bench.add_subcommand(
      "serving",
      "Measure how many long chats fit, how long reading, a token and a change of chats take, "
      "each beside what this machine's limits allow");
  command->add_option("--depth", options->n_tokens, "Tokens of each chat")
      ->type_name("TOKENS")
      ->check(whole_number(64, 100'000'000))
      ->capture_default_str();
  command->add_option("--decode", options->n_answer, "Tokens whose time is taken")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  add_rounds_option(*command, options->rounds, "Measurements of each kind; the median is shown");
  command->add_option("--budget", options->common.budget,
                      "Memory limit of all chats, such as 300MB. Default: as in a chat");
  add_recipe_bench(*command, choose, options, run);
}

}  // namespace satchel::app
