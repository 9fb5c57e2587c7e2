// `satchel demo`: the whole product in one run: read, ask, compress, ask, save, end the process,
// start a new one, resume without rereading, ask once more; then the presets side by side. Every
// figure is measured in this run.
#include <array>
#include <filesystem>
#include <memory>

#include "app/child.h"
#include "app/cli/commands.h"
#include "app/cli/conversation.h"
#include "app/cli/demo_notes.h"
#include "app/cli/demo_run.h"
#include "app/cli/exit_codes.h"
#include "app/cli/interrupt.h"
#include "app/cli/on_run.h"
#include "app/cli/scratch_folder.h"
#include "app/cli/workbench.h"
#include "kernels/base/size_text.h"

namespace satchel::app {
namespace {
namespace fs = std::filesystem;

// What the second process does; its JSON goes to the first.
Result<Json> resume_and_ask(const Options& options, Console& console) {
  SATCHEL_TRY_ASSIGN(
      const auto conversation,
      Conversation::open(
          options, {.name = std::string(kDemoChat), .must_exist = true, .system = {}}, console));
  if (!conversation->resumed())
    return Error{ErrorKind::internal, "DEMO", "The saved chat has no messages."};
  const runtime::ResumeReport& resumed = *conversation->resumed();
  const Say say = [&console](const std::string& line) { console.data(line + "\n"); };
  say("  " + describe(resumed));
  SATCHEL_TRY_ASSIGN(const DemoAnswers answers, ask_all(*conversation, say));
  return Json{{"texts", answers.texts},
              {"correct", answers.correct},
              {"chat_tokens", resumed.n_chat_tokens},
              {"reused_tokens", resumed.n_reused},
              {"reread_tokens", resumed.n_reread},
              {"resume_ms", resumed.ms}};
}

Json report(const DemoAnswers& full, const DemoAnswers& packed, const Json& resumed) {
  Json answers = Json::array();
  for (std::size_t i = 0; i < full.correct.size(); ++i)
    answers.push_back({{"question", kDemoQuestions[i].question},
                       {"answer", resumed["texts"][i]},
                       {"answer_full", full.texts[i]},
                       {"answer_packed", packed.texts[i]},
                       {"correct_full", bool{full.correct[i]}},
                       {"correct_packed", bool{packed.correct[i]}},
                       {"correct_resumed", resumed["correct"][i]}});
  Json json{{"schema", 1}, {"answers", answers}};
  for (const char* key : {"chat_tokens", "reused_tokens", "reread_tokens", "resume_ms"})
    json[key] = resumed[key];
  return json;
}

Result<Json> run_second_process(const Options& options, const fs::path& store, Console& console) {
  std::vector<std::string> arguments = {"demo",         "--second-process", "--json",
                                        "--store",      store.string(),     "--backend",
                                        options.backend};
  if (!options.cpu_level.empty())
    arguments.insert(arguments.end(), {"--cpu-level", options.cpu_level});
  if (options.activations != Options{}.activations)
    arguments.insert(arguments.end(), {"--activations", std::to_string(options.activations)});
  if (options.threads > 0)
    arguments.insert(arguments.end(), {"--threads", std::to_string(options.threads)});
  if (!options.chat_template.empty())
    arguments.insert(arguments.end(), {"--template", options.chat_template});
  SATCHEL_TRY_ASSIGN(const ChildOutput child, run_self(arguments));
  if (child.exit_code == kExitInterrupted) return demo_stopped();
  const std::size_t last =
      child.text.rfind('\n', child.text.size() < 2 ? 0 : child.text.size() - 2);
  const std::size_t json_at = last == std::string::npos ? 0 : last + 1;
  console.prose(child.text.substr(0, json_at));
  const Json json = Json::parse(child.text.substr(json_at), nullptr, false);
  if (child.exit_code != 0 || json.is_discarded() || !json.contains("texts"))
    return Error{
        ErrorKind::internal, "DEMO",
        "The second process ended with exit code " + std::to_string(child.exit_code) + "."};
  return json;
}

Result<Json> run(Options options, Console& console) {
  SATCHEL_TRY_ASSIGN(const auto scratch, ScratchFolder::make());
  if (options.store.empty()) options.store = scratch->path().string();
  if (options.recipe.empty()) options.recipe = kDemoRecipe;
  Options exact = options;
  exact.recipe = "full";
  exact.keep = 0;
  const Say say = [&console](const std::string& line) { console.prose(line + "\n"); };

  say("1. Read the notes and keep every token exact (full)");
  SATCHEL_TRY_ASSIGN(ReadNotes full, read_and_ask(exact, false, say, console));
  full.conversation.reset();

  say("2. Read them again, compressed (" + demo_name(options) + "), and save the chat");
  SATCHEL_TRY_ASSIGN(ReadNotes packed, read_and_ask(options, true, say, console));
  SATCHEL_TRY_ASSIGN(const kvcache::SaveReport saved, packed.conversation->session().save());
  say("  Saved " + size_text(saved.bytes_total) + " for " + count_text(saved.n_tokens) +
      " tokens.");
  const std::string backend = packed.conversation->engine().backend();
  packed.conversation.reset();

  say("3. Resume the chat in a new process and ask again");
  SATCHEL_TRY_ASSIGN(const Json resumed, run_second_process(options, options.store, console));

  say("4. Compare the presets on the same notes and questions (all measured in this run)");
  const std::array known = {full.run, packed.run};
  SATCHEL_TRY_ASSIGN(const Json presets, compare_presets(options, known, console));
  say("  Presets compress older text; the first and the newest tokens stay exact.");
  Json json = report(full.run.answers, packed.run.answers, resumed);
  json.update(packed.run.figures());
  json["backend"] = backend;
  json["presets"] = presets;
  return json;
}

}  // namespace

void add_demo(CLI::App& app, const Choose& choose) {
  auto options = std::make_shared<Options>();
  auto second = std::make_shared<bool>(false);
  CLI::App* command = app.add_subcommand(
      "demo", "Show what Satchel does: read, ask, compress, save, resume, compare presets");
  command
      ->add_flag("--second-process", *second,
                 "The part after the restart; started by the demo itself")
      ->group("");
  add_output_options(*command, *options);
  add_store_option(*command, *options);
  add_model_options(*command, *options);
  add_recipe_options(*command, *options, std::string(kDemoRecipe));
  const auto go = [second](const Options& given, Console& console) -> Result<void> {
    SATCHEL_TRY_ASSIGN(const Json json,
                       *second ? resume_and_ask(given, console) : run(given, console));
    if (given.json) console.document(json);
    return {};
  };
  on_run(*command, choose, options, go);
}

}  // namespace satchel::app
