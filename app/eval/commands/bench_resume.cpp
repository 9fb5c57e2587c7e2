// `satchel bench resume`: how long a saved chat takes to come back, per recipe.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "app/cli/interrupt.h"
#include "app/cli/workbench.h"
#include "app/eval/commands/bench_command.h"
#include "app/eval/commands/book_text.h"
#include "app/eval/commands/commands.h"
#include "app/eval/commands/lane_search.h"
#include "app/eval/measure/resume_speed.h"
#include "app/eval/measure/speed.h"
#include "kernels/base/size_text.h"

namespace satchel::app {
namespace {

struct ResumeOptions {
  Options common;
  std::vector<std::string> recipes = {"balanced", "compact"};
  std::vector<double> keeps;
  std::size_t n_tokens = 0;  // 0: kTokensMost, or what the context takes
  std::size_t rounds = 5;
  bool thins = false;
};

constexpr std::size_t kTokensMost = 32'000;
// What a text may be longer than asked for, and what a template puts around it.
constexpr std::size_t kContextLeft = 10;  // one part in so many

std::size_t length_of(const ResumeOptions& options, std::size_t n_context) {
  if (options.n_tokens != 0) return options.n_tokens;
  return std::min(kTokensMost, n_context - n_context / kContextLeft);
}

double median_of(const std::vector<eval::ResumeTimes>& rounds, double eval::ResumeTimes::*time) {
  std::vector<double> values;
  for (const eval::ResumeTimes& round : rounds) values.push_back(round.*time);
  return eval::median(std::move(values));
}

// The share of a plain read's speed, round by round: both met the same machine then. Opening
// counts: it brings in pages that the resume then finds.
double share_of_plain(const std::vector<eval::ResumeTimes>& rounds) {
  std::vector<double> values;
  for (const eval::ResumeTimes& round : rounds)
    values.push_back(round.plain_ms / (round.open_ms + round.resume_ms));
  return eval::median(std::move(values));
}

Json row_of(const Variant& variant, const eval::ResumeSpeed& speed,
            const eval::ResumeRounds& rounds) {
  using Times = eval::ResumeTimes;
  return Json{{"recipe", variant.name},
              {"thinned", &rounds != &speed.saved},
              {"keep", variant.recipe.keep()},
              {"tokens", speed.n_tokens},
              {"rounds", rounds.warm.size()},
              {"resume_ms_warm", median_of(rounds.warm, &Times::resume_ms)},
              {"resume_ms_cold", median_of(rounds.cold, &Times::resume_ms)},
              {"resume_cpu_ms_warm", median_of(rounds.warm, &Times::resume_cpu_ms)},
              {"open_ms_warm", median_of(rounds.warm, &Times::open_ms)},
              {"open_ms_cold", median_of(rounds.cold, &Times::open_ms)},
              {"plain_read_ms_warm", median_of(rounds.warm, &Times::plain_ms)},
              {"plain_read_ms_cold", median_of(rounds.cold, &Times::plain_ms)},
              {"share_of_plain_read_warm", share_of_plain(rounds.warm)},
              {"share_of_plain_read_cold", share_of_plain(rounds.cold)},
              {"still_in_page_cache", rounds.still_there},
              {"reread_tokens", rounds.n_reread},
              {"prefill_ms", speed.prefill_ms},
              {"idle_ms", speed.idle_ms},
              {"save_ms", speed.save_ms},
              {"thin_ms", speed.thin_ms},
              {"bytes_on_disk", rounds.bytes_on_disk},
              {"bytes_fp16", speed.stats.fp16_bytes},
              {"cache", to_json(speed.stats)}};
}

constexpr const char* kHead =
    "recipe             tokens     on disk  in fp16    warm      cold      plain read, cold  "
    "prefill\n";

std::string line_of(const Json& row) {
  const auto bytes = [&](const char* name) { return size_text(row[name].get<std::size_t>()); };
  const auto time = [&](const char* name) { return duration_text(row[name]); };
  const std::string plain = time("plain_read_ms_cold") + " (" +
                            format_percent(row["share_of_plain_read_cold"]) + " of its speed)";
  const std::string name =
      row["recipe"].get<std::string>() + (row["thinned"].get<bool>() ? ", thinned" : "");
  return padded(name, 19) + padded(count_text(row["tokens"]), 11) +
         padded(bytes("bytes_on_disk"), 9) + padded(bytes("bytes_fp16"), 11) +
         padded(time("resume_ms_warm"), 10) + padded(time("resume_ms_cold"), 10) +
         padded(plain, 18) + time("prefill_ms") + "\n";
}

// What makes a row less than it seems.
void warn(const Variant& variant, const eval::ResumeRounds& rounds, Console& console) {
  if (rounds.n_reread > 0)
    console.warning(variant.name + ": " + count_text(rounds.n_reread) +
                    " tokens were not in the saved cache and were read again, so these times are "
                    "not those of a resume.");
  if (rounds.still_there > 0)
    console.warning(variant.name + ": " + format_percent(rounds.still_there) +
                    " of the files stayed in the page cache, so \"cold\" is not quite cold. Let "
                    "TMPDIR name a folder on a disk.");
}

Result<void> run(const ResumeOptions& options, Console& console) {
  SATCHEL_TRY_ASSIGN(const auto variants, variants_of(options.recipes, options.keeps));
  SATCHEL_TRY_ASSIGN(const std::size_t limit, chosen_budget(options.common));
  SATCHEL_TRY_ASSIGN(const auto engine, open_engine(options.common, console));
  SATCHEL_TRY_ASSIGN(const eval::BookSpec book,
                     close_to_length({.n_facts = 1}, length_of(options, engine->config().context),
                                     engine->tokenizer()));
  const eval::ResumeSpec spec{.text = eval::make_book(book).text,
                              .limit_bytes = limit,
                              .rounds = options.rounds,
                              .thins = options.thins};
  console.note(engine->config().name + " on " + engine->device() + ", median of " +
               std::to_string(options.rounds));
  Json rows = Json::array();
  if (!console.json()) console.data(kHead);
  for (const Variant& variant : variants) {
    SATCHEL_TRY(ensure_head_budgets(*engine, variant.recipe, console));
    SATCHEL_TRY_ASSIGN(const eval::ResumeSpeed speed,
                       eval::measure_resume(*engine, variant.recipe, spec, begin_interruptible(),
                                            console.progress()));
    console.end_progress();
    const auto add = [&](const eval::ResumeRounds& rounds) {
      warn(variant, rounds, console);
      rows.push_back(row_of(variant, speed, rounds));
      if (!console.json()) console.data(line_of(rows.back()));
    };
    add(speed.saved);
    if (speed.thinned) add(*speed.thinned);
    if (options.thins && !speed.thinned)
      console.note(variant.name + ": nothing of this chat's saved cache can be thinned.");
  }
  tell_rows(*engine, rows, console);
  return {};
}

}  // namespace

void add_bench_resume(CLI::App& bench, const Choose& choose) {
  const auto options = std::make_shared<ResumeOptions>();
  CLI::App* command = bench.add_subcommand(
      "resume", "Measure how long a saved chat takes to come back, from the disk and from memory");
  command
      ->add_option("--length", options->n_tokens,
                   "Tokens of the chat, about. Default: 32,000, or what the context takes")
      ->type_name("TOKENS")
      ->check(whole_number(1, 100'000'000));
  add_rounds_option(*command, options->rounds, "Resumes of each kind; the median is shown");
  command->add_flag("--thinned", options->thins,
                    "Also resume each chat once its saved cache is thinned, as --thin-after does");
  command->add_option("--budget", options->common.budget,
                      "Memory limit of the chat, such as 300MB. Default: as in a chat");
  add_recipe_bench(*command, choose, options, run);
}

}  // namespace satchel::app
