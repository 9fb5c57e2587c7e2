// `satchel eval live`.
#include <algorithm>
#include <string>

#include "app/cli/interrupt.h"
#include "app/cli/on_run.h"
#include "app/cli/text_table.h"
#include "app/cli/workbench.h"
#include "app/eval/chat_world/chat_world.h"
#include "app/eval/commands/engine_pair.h"
#include "app/eval/commands/evaluate.h"
#include "app/eval/commands/task_options.h"
#include "app/eval/measure/live_chat.h"
#include "kernels/base/size_text.h"

namespace satchel::app {
namespace {

struct LiveOptions {
  Options common;
  std::string abilities = "notes";
  std::size_t n_messages = 200;
  std::uint64_t seed = 1;
  eval::LiveSpec spec;
};

// Rows are compared with the second one: by then a chat has all that chats have.
constexpr std::size_t kFirstCompared = 1;

// How many times the processor time of the row compared with; 0: there is none yet.
double times_first(const eval::LiveRow& row, const eval::LiveChat& chat) {
  if (chat.rows.size() <= kFirstCompared) return 0;
  const double first = chat.rows[kFirstCompared].answer_cpu_ms;
  return first > 0 ? row.answer_cpu_ms / first : 0;
}

std::string table_of(const eval::LiveChat& chat) {
  std::vector<Cells> lines = {{"messages", "tokens", "memory", "chat", "on disk", "reading",
                               "answer", "times", "idle", "saving", "right", "stale"}};
  for (const eval::LiveRow& row : chat.rows)
    lines.push_back({count_text(row.n_messages), count_text(row.n_tokens),
                     size_text(row.used_bytes), size_text(row.held_bytes),
                     size_text(row.disk_bytes), duration_text(row.read_ms),
                     duration_text(row.answer_ms), fixed_text(times_first(row, chat), 2),
                     duration_text(row.idle_ms), duration_text(row.save_ms),
                     std::to_string(row.n_right) + " of " + std::to_string(row.n_asked),
                     std::to_string(row.n_stale)});
  return aligned(lines);
}

std::string resumes_of(const eval::LiveChat& chat) {
  std::size_t n_same = 0, n_lost = 0;
  double ms = 0;
  std::string other;
  for (const eval::LiveResume& resume : chat.resumes) {
    n_lost += resume.n_lost;
    ms = std::max(ms, resume.ms);
    if (resume.is_same())
      ++n_same;
    else
      other += "\n  after " + count_text(resume.n_messages) + " messages: \"" +
               resume.answer_there + "\" instead of \"" + resume.answer + "\"";
  }
  if (chat.resumes.empty()) return {};
  return "\nKilled and resumed " + std::to_string(chat.resumes.size()) +
         " times: " + std::to_string(n_lost) + " messages lost, " + std::to_string(n_same) +
         " next answers the same, ready in " + duration_text(ms) + " at most." + other + "\n";
}

Json to_json(const eval::LiveRow& row) {
  return {{"messages", row.n_messages},   {"tokens", row.n_tokens},
          {"used_bytes", row.used_bytes}, {"kv_bytes", row.held_bytes},
          {"disk_bytes", row.disk_bytes}, {"read_ms", row.read_ms},
          {"answer_ms", row.answer_ms},   {"answer_cpu_ms", row.answer_cpu_ms},
          {"idle_ms", row.idle_ms},       {"save_ms", row.save_ms},
          {"asked", row.n_asked},         {"right", row.n_right},
          {"stale", row.n_stale}};
}

Json to_json(const eval::LiveResume& resume) {
  return {{"messages", resume.n_messages},
          {"lost", resume.n_lost},
          {"reused", resume.n_reused},
          {"reread", resume.n_reread},
          {"ms", resume.ms},
          {"same", resume.is_same()},
          {"answer", resume.answer},
          {"answer_there", resume.answer_there}};
}

void show(const runtime::Engine& engine, const eval::LiveChat& chat, Console& console) {
  if (!console.json()) {
    console.data(table_of(chat) + resumes_of(chat));
    return;
  }
  Json rows = Json::array(), resumes = Json::array();
  for (const eval::LiveRow& row : chat.rows) rows.push_back(to_json(row));
  for (const eval::LiveResume& resume : chat.resumes) resumes.push_back(to_json(resume));
  console.document({{"schema", 1},
                    {"model", engine.config().name},
                    {"device", engine.device()},
                    {"limit_bytes", chat.limit_bytes},
                    {"rows", rows},
                    {"resumes", resumes}});
}

Result<void> run(const LiveOptions& options, Console& console) {
  SATCHEL_TRY_ASSIGN(const kvcache::Recipe recipe, chosen_recipe(options.common, "satchel"));
  eval::LiveSpec spec = options.spec;
  SATCHEL_TRY_ASSIGN(spec.limit_bytes, chosen_budget(options.common));
  SATCHEL_TRY_ASSIGN(const EnginePair engines, open_engine_pair(options.common, recipe, console));
  const eval::Chat chat = eval::make_chat({.abilities = options.abilities,
                                           .n_messages = options.n_messages,
                                           .n_questions = 0,
                                           .seed = options.seed});
  const auto told = [&](const eval::LiveRow& row) {
    console.status(count_text(row.n_messages) + " of " + count_text(chat.messages.size()) +
                   " messages");
  };
  SATCHEL_TRY_ASSIGN(const eval::LiveChat held,
                     eval::hold_live_chat(*engines.first, *engines.second, recipe, chat, spec,
                                          begin_interruptible(), told));
  console.end_progress();
  show(*engines.first, held, console);
  return {};
}

}  // namespace

void add_eval_live(CLI::App& eval, const Choose& choose) {
  const auto options = std::make_shared<LiveOptions>();
  CLI::App* command = eval.add_subcommand(
      "live", "Hold a long chat under a fixed limit, on disk, killed and resumed on the way");
  command->add_option("--abilities", options->abilities, "What the chat is about")
      ->check(one_of_names(eval::chat_abilities()))
      ->capture_default_str();
  command->add_option("--messages", options->n_messages, "Messages of the chat, of both sides")
      ->check(whole_number(2, 100'000))
      ->capture_default_str();
  command->add_option("--row", options->spec.row_messages, "Messages that a row stands for")
      ->check(whole_number(2))
      ->capture_default_str();
  command
      ->add_option("--kill", options->spec.kill_messages,
                   "Messages between two kills; 0: the chat is never killed")
      ->check(whole_number())
      ->capture_default_str();
  command->add_option("--seed", options->seed, "Random seed; the same seed gives the same chat")
      ->check(whole_number())
      ->capture_default_str();
  add_recipe_options(*command, options->common, "satchel");
  add_output_options(*command, options->common);
  add_model_options(*command, options->common);
  on_run(*command, choose, options, run);
}

}  // namespace satchel::app
