// `satchel bench`: tokens per second of reading and answering, at given depths, per recipe. What it
// measures beside that are commands below it (bench_resume.cpp …).
#include <algorithm>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/interrupt.h"
#include "app/cli/workbench.h"
#include "app/eval/commands/bench_command.h"
#include "app/eval/commands/commands.h"
#include "app/eval/commands/lane_search.h"
#include "app/eval/measure/speed.h"
#include "kernels/base/size_text.h"

namespace satchel::app {
namespace {

struct BenchOptions {
  Options common;
  std::vector<std::size_t> depths = {512, 1024};
  std::vector<std::string> recipes = {"full", "compact"};
  std::vector<double> keeps;  // --keep; empty: each recipe's own
  std::size_t n_before = 0, n_decode = 64, rounds = 1;
  bool paced = false;
};

double per_second(std::size_t n, double ms) {
  return ms > 0 ? static_cast<double>(n) * 1000 / ms : 0;
}

// What was measured of one variant at one depth, a value for each round.
struct Measured {
  std::vector<double> read, decode, pack_ms, times_first;
  kvcache::CacheStats stats;
};

// Waits for a line of standard input where another program takes turns with this one.
Result<void> wait_for_turn(const BenchOptions& options) {
  std::string line;
  if (!options.paced || std::getline(std::cin, line)) return {};
  return Error{ErrorKind::invalid, "PARAM",
               "--paced needs a line on standard input for every round and recipe."};
}

// What a variant is measured with in all rounds: the conversation before the prompt is read once.
Result<std::vector<eval::SpeedMeter>> open_meters(runtime::Engine& engine,
                                                  const BenchOptions& options,
                                                  std::span<const Variant> variants,
                                                  const eval::SpeedRequest& request) {
  std::vector<eval::SpeedMeter> out;
  for (const Variant& variant : variants) {
    SATCHEL_TRY_ASSIGN(eval::SpeedMeter meter,
                       eval::SpeedMeter::open(engine, variant.recipe, options.n_before, request,
                                              options.rounds, begin_interruptible()));
    out.push_back(std::move(meter));
  }
  return out;
}

void note(const eval::Speed& speed, double first_ms, Measured& out) {
  out.read.push_back(per_second(speed.n_prompt, speed.prefill_ms));
  out.decode.push_back(per_second(speed.n_decode, speed.decode_ms));
  out.pack_ms.push_back(speed.pack_ms);
  out.times_first.push_back((speed.prefill_ms + speed.pack_ms) / first_ms);
  out.stats = speed.stats;
}

// Round by round, all variants in turn, so that they meet the same machine.
Result<std::vector<Measured>> measure(runtime::Engine& engine, const BenchOptions& options,
                                      std::span<const Variant> variants, std::size_t depth,
                                      Console& console) {
  const eval::SpeedRequest request{.n_prompt = depth, .n_decode = options.n_decode};
  std::vector<eval::SpeedMeter> meters;
  if (options.n_before != 0) {
    SATCHEL_TRY_ASSIGN(meters, open_meters(engine, options, variants, request));
  }
  if (options.paced) console.data("ready\n");
  std::vector<Measured> out(variants.size());
  for (std::size_t round = 0; round < options.rounds; ++round) {
    double first_ms = 0;
    for (std::size_t i = 0; i < variants.size(); ++i) {
      SATCHEL_TRY(wait_for_turn(options));
      SATCHEL_TRY_ASSIGN(const eval::Speed speed,
                         meters.empty() ? eval::measure_speed(engine, variants[i].recipe, request,
                                                              begin_interruptible())
                                        : meters[i].next(begin_interruptible()));
      if (i == 0) first_ms = speed.prefill_ms + speed.pack_ms;
      note(speed, first_ms, out[i]);
      if (options.paced)
        console.data(Json{{"recipe", variants[i].name},
                          {"prefill_tokens_per_s", out[i].read.back()},
                          {"decode_tokens_per_s", out[i].decode.back()},
                          {"prefill_cpu_ms", speed.prefill_cpu_ms},
                          {"decode_cpu_ms", speed.decode_cpu_ms},
                          {"kv_bytes", speed.stats.bytes}}
                         .dump() +
                     "\n");
    }
  }
  return out;
}

Json row_of(const BenchOptions& options, const Variant& variant, std::size_t depth,
            const Measured& measured) {
  return Json{{"recipe", variant.name},
              {"keep", variant.recipe.keep()},
              {"depth", depth},
              {"before", options.n_before},
              {"rounds", options.rounds},
              {"prefill_tokens_per_s", eval::median(measured.read)},
              {"second_pass_ms", eval::median(measured.pack_ms)},
              {"reading_times_first", eval::median(measured.times_first)},
              {"decode_tokens_per_s", eval::median(measured.decode)},
              {"cache", to_json(measured.stats)}};
}

constexpr const char* kHead =
    "depth   recipe           prefill tok/s  second pass  vs first  decode tok/s  cache\n";

std::string line_of(const Json& row) {
  std::string line = std::to_string(row["depth"].get<std::size_t>());
  line.resize(8, ' ');
  line += row["recipe"].get<std::string>() + " " + format_percent(row["keep"]);
  line.resize(std::max<std::size_t>(line.size(), 28), ' ');
  const double pack_ms = row["second_pass_ms"];  // 0: none was wanted
  return line + right_aligned(fixed_text(row["prefill_tokens_per_s"], 1), 10) +
         right_aligned(pack_ms > 0 ? duration_text(pack_ms) : "-", 13) +
         right_aligned(fixed_text(row["reading_times_first"], 2) + " x", 10) +
         right_aligned(fixed_text(row["decode_tokens_per_s"], 1), 14) + "  " +
         size_text(row["cache"]["kv_bytes"]) + "\n";
}

Result<void> run(const BenchOptions& options, Console& console) {
  SATCHEL_TRY_ASSIGN(const auto variants, variants_of(options.recipes, options.keeps));
  SATCHEL_TRY_ASSIGN(const auto engine, open_engine(options.common, console));
  for (const Variant& variant : variants)
    SATCHEL_TRY(ensure_head_budgets(*engine, variant.recipe, console));
  console.note(engine->config().name + " on " + engine->device() + ", median of " +
               std::to_string(options.rounds) +
               "; \"vs first\": prefill and second pass against the first row of that depth");
  // Else the first row would pay for a model that no cache of the processor has seen.
  SATCHEL_TRY(eval::measure_speed(*engine, variants.front().recipe, {.n_prompt = 64, .n_decode = 4},
                                  begin_interruptible()));
  Json rows = Json::array();
  if (!console.json()) console.data(kHead);
  for (const std::size_t depth : options.depths) {
    SATCHEL_TRY_ASSIGN(const auto measured, measure(*engine, options, variants, depth, console));
    for (std::size_t i = 0; i < variants.size(); ++i) {
      rows.push_back(row_of(options, variants[i], depth, measured[i]));
      if (!console.json()) console.data(line_of(rows.back()));
    }
  }
  tell_rows(*engine, rows, console);
  return {};
}

}  // namespace

void add_bench(CLI::App& app, const Choose& choose) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command =
      app.add_subcommand("bench", "Measure prefill and decode speed per recipe and prompt length");
  command->add_option("--depths", options->depths, "Prompt lengths in tokens")
      ->delimiter(',')
      ->check(whole_number(1))
      ->capture_default_str();
  command
      ->add_option("--before", options->n_before,
                   "Tokens already in the chat before each timed prompt; all rounds then share one "
                   "chat")
      ->check(CLI::Range(0, 10'000'000))
      ->capture_default_str();
  command->add_flag(
      "--paced", options->paced,
      "Wait for a line on standard input before each measurement and print each result "
      "as a line of JSON, to take turns with another program");
  command->add_option("--decode", options->n_decode, "Tokens to generate after each prompt")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  add_rounds_option(*command, options->rounds, "Measurements per row; the median is shown");
  add_recipe_bench(*command, choose, options, run);
  add_bench_resume(*command, choose);
  add_bench_drafts(*command, choose);
  add_bench_reading(*command, choose);
  add_bench_serving(*command, choose);
  add_bench_blocks(*command, choose);
}

}  // namespace satchel::app
