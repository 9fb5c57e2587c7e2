// `satchel bench`: tokens per second of reading and answering, at given depths, per recipe.
#include <algorithm>
#include <memory>
#include <vector>

#include "app/cli/commands.h"
#include "app/cli/exit_codes.h"
#include "app/cli/interrupt.h"
#include "app/cli/workbench.h"
#include "runtime/governor/presets.h"
#include "runtime/measure/measure.h"

namespace satchel::app {
namespace {

struct BenchOptions {
  Options common;
  std::vector<std::size_t> depths = {512, 1024};
  std::vector<std::string> recipes = {"full", "compact"};
  std::size_t n_decode = 64, rounds = 1;
};

double per_second(std::size_t n, double ms) {
  return ms > 0 ? static_cast<double>(n) * 1000 / ms : 0;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

std::string one_digit(double value) {
  const auto tenths = static_cast<std::size_t>(value * 10 + 0.5);
  return with_thousands(tenths / 10) + "." + std::to_string(tenths % 10);
}

Result<Json> row(runtime::Engine& engine, const BenchOptions& options, const std::string& name,
                 std::size_t depth) {
  SATCHEL_TRY_ASSIGN(const kvcache::Recipe recipe, runtime::resolve_recipe(name));
  std::vector<double> prefill, decode;
  kvcache::CacheStats stats;
  for (std::size_t round = 0; round < options.rounds; ++round) {
    SATCHEL_TRY_ASSIGN(
        const runtime::Speed speed,
        runtime::measure_speed(engine, recipe, {.n_prompt = depth, .n_decode = options.n_decode},
                               begin_interruptible()));
    prefill.push_back(per_second(speed.n_prompt, speed.prefill_ms));
    decode.push_back(per_second(speed.n_decode, speed.decode_ms));
    stats = speed.stats;
  }
  return Json{{"recipe", name},
              {"depth", depth},
              {"rounds", options.rounds},
              {"prefill_tokens_per_s", median(prefill)},
              {"decode_tokens_per_s", median(decode)},
              {"cache", to_json(stats)}};
}

Result<void> run(const BenchOptions& options, Console& console) {
  const Paths paths = standard_paths({});
  SATCHEL_TRY_ASSIGN(const auto engine, open_engine(options.common, console,
                                                    resolve_model(paths, options.common.model)));
  console.note(engine->config().name + " on " + engine->device() + ", medians of " +
               std::to_string(options.rounds));
  Json rows = Json::array();
  if (!console.json()) console.data("depth   recipe      read tok/s   answer tok/s   cache\n");
  for (const std::size_t depth : options.depths)
    for (const std::string& recipe : options.recipes) {
      SATCHEL_TRY_ASSIGN(Json measured, row(*engine, options, recipe, depth));
      if (!console.json()) {
        std::string line = std::to_string(depth);
        line.resize(8, ' ');
        line += recipe;
        line.resize(20, ' ');
        line += one_digit(measured["prefill_tokens_per_s"]);
        line.resize(33, ' ');
        line += one_digit(measured["decode_tokens_per_s"]);
        line.resize(48, ' ');
        console.data(line + format_bytes(measured["cache"]["kv_bytes"]) + "\n");
      }
      rows.push_back(std::move(measured));
    }
  if (console.json())
    console.document({{"schema", 1},
                      {"model", engine->config().name},
                      {"device", engine->device()},
                      {"rows", rows}});
  return {};
}

}  // namespace

void add_bench(CLI::App& app, const Choose& choose) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command =
      app.add_subcommand("bench", "Speed of reading and answering at given depths, per recipe");
  command->add_option("--depths", options->depths, "Prompt lengths in tokens")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--recipes", options->recipes, "Presets or recipes")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--decode", options->n_decode, "Tokens answered after each prompt")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  command->add_option("--rounds", options->rounds, "Measurements per row; the median is shown")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  add_output_options(*command, options->common);
  add_model_options(*command, options->common);
  command->callback([=] {
    choose([=] {
      Console console(options->common.json, options->common.quiet);
      const Result<void> done = run(*options, console);
      return done.ok() ? int{kExitOk} : console.fail(done.error());
    });
  });
}

}  // namespace satchel::app
