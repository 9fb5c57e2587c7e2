// `satchel demo`: the whole product in one run: read, ask, compress, ask, save, end the process,
// start a new one, resume without reading again, ask once more. Every figure is of this run.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <system_error>

#include "app/cli/child.h"
#include "app/cli/commands.h"
#include "app/cli/conversation.h"
#include "app/cli/demo_notes.h"
#include "app/cli/exit_codes.h"
#include "app/cli/interrupt.h"
#include "app/cli/workbench.h"

namespace satchel::app {
namespace {
namespace fs = std::filesystem;

constexpr std::string_view kChatName = "demo";

// A folder for this run, removed at its end.
class ScratchFolder {
 public:
  static Result<std::unique_ptr<ScratchFolder>> make() {
    std::error_code error;
    std::string name = (fs::temp_directory_path(error) / "satchel-demo-XXXXXX").string();
    if (error || mkdtemp(name.data()) == nullptr)
      return Error{ErrorKind::storage, "STORAGE",
                   "No folder can be made in the system's temporary folder."};
    return std::make_unique<ScratchFolder>(name);
  }
  explicit ScratchFolder(fs::path path) : path_(std::move(path)) {}
  ScratchFolder(ScratchFolder&&) = delete;
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

constexpr std::size_t kAnswerTokensMax = 64;  // the answers are a sentence each

struct Answers {
  std::vector<std::string> texts;
  std::vector<bool> correct;
  std::size_t n_correct() const {
    return static_cast<std::size_t>(std::count(correct.begin(), correct.end(), true));
  }
};

void say(Console& console, const std::string& line) {
  console.data(line + "\n");
}

Error stopped() {
  return {ErrorKind::cancelled, "STOPPED", "Stopped."};
}

Result<Answers> ask_all(Conversation& conversation, Console& console) {
  Answers answers;
  for (const DemoQuestion& question : kDemoQuestions) {
    SATCHEL_TRY(conversation.session().add_user(question.question));
    SATCHEL_TRY_ASSIGN(
        const runtime::GenerateReport report,
        conversation.session().generate(runtime::Sampling::plain_greedy(kAnswerTokensMax), {},
                                        begin_interruptible(), {}));
    if (report.finish == runtime::Finish::stopped) return stopped();
    const bool correct = report.text.find(question.value) != std::string::npos;
    say(console, "  " + std::string(question.question) + "  " + report.text +
                     (correct ? "  [right]" : "  [wrong]"));
    answers.texts.push_back(report.text);
    answers.correct.push_back(correct);
  }
  return answers;
}

std::string score(const Answers& answers) {
  return std::to_string(answers.n_correct()) + " of " + std::to_string(answers.correct.size()) +
         " right";
}

Result<std::unique_ptr<Conversation>> open_and_read(const Options& options, bool keep,
                                                    Console& console) {
  const ConversationRequest request{
      .name = keep ? std::string(kChatName) : "", .keep = keep, .system = {}};
  SATCHEL_TRY_ASSIGN(auto conversation, Conversation::open(options, request, console));
  SATCHEL_TRY(conversation->session().add_document("notes", kDemoNotes));
  SATCHEL_TRY_ASSIGN(const runtime::ReadReport read,
                     conversation->session().read(begin_interruptible(), console.progress()));
  console.end_progress();
  std::string line = "  read " + with_thousands(read.n_tokens) + " tokens in " +
                     format_seconds(read.ms) + "; the cache takes " +
                     describe(conversation->session().stats());
  if (read.fidelity.n_tokens > 0)
    line += "; next token unchanged " + format_percent(read.fidelity.agreement) +
            " of the time (measured)";
  say(console, line);
  return conversation;
}

// What the second process does; its JSON goes to the first.
Result<Json> resume_and_ask(const Options& options, Console& console) {
  SATCHEL_TRY_ASSIGN(
      const auto conversation,
      Conversation::open(
          options, {.name = std::string(kChatName), .must_exist = true, .system = {}}, console));
  if (!conversation->resumed())
    return Error{ErrorKind::internal, "DEMO", "The saved chat has no messages."};
  const runtime::ResumeReport& resumed = *conversation->resumed();
  say(console, "  " + describe(resumed));
  SATCHEL_TRY_ASSIGN(const Answers answers, ask_all(*conversation, console));
  say(console, "  " + score(answers));
  return Json{{"texts", answers.texts},
              {"correct", answers.correct},
              {"chat_tokens", resumed.n_chat_tokens},
              {"reused_tokens", resumed.n_reused},
              {"reread_tokens", resumed.n_reread},
              {"resume_ms", resumed.ms}};
}

Json report(const Answers& full, const Answers& packed, const Json& resumed) {
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
  if (child.exit_code == kExitInterrupted) return stopped();
  const std::size_t last =
      child.text.rfind('\n', child.text.size() < 2 ? 0 : child.text.size() - 2);
  const std::size_t json_at = last == std::string::npos ? 0 : last + 1;
  console.data(child.text.substr(0, json_at));
  const Json json = Json::parse(child.text.substr(json_at), nullptr, false);
  if (child.exit_code != 0 || json.is_discarded() || !json.contains("texts"))
    return Error{ErrorKind::internal, "DEMO",
                 "The second process ended with code " + std::to_string(child.exit_code) + "."};
  return json;
}

Result<Json> run(Options options, Console& console) {
  SATCHEL_TRY_ASSIGN(const auto scratch, ScratchFolder::make());
  if (options.store.empty()) options.store = scratch->path().string();
  Options exact = options;
  exact.recipe = "full";
  exact.keep = 0;

  say(console, "1. Read the notes, every token exact (recipe full)");
  SATCHEL_TRY_ASSIGN(auto conversation, open_and_read(exact, false, console));
  SATCHEL_TRY_ASSIGN(const Answers full, ask_all(*conversation, console));
  say(console, "  " + score(full));
  conversation.reset();

  if (options.recipe.empty()) options.recipe = kDemoRecipe;
  say(console, "2. Read them again, compressed (recipe " + options.recipe + "), and save");
  SATCHEL_TRY_ASSIGN(conversation, open_and_read(options, true, console));
  const runtime::Fidelity fidelity = conversation->session().fidelity();
  const kvcache::CacheStats stats = conversation->session().stats();
  SATCHEL_TRY_ASSIGN(const Answers packed, ask_all(*conversation, console));
  say(console, "  " + score(packed));
  SATCHEL_TRY_ASSIGN(const kvcache::SaveReport saved, conversation->session().save());
  say(console, "  saved " + format_bytes(saved.bytes_total) + " for " +
                   with_thousands(saved.n_tokens) + " tokens");
  const std::string recipe = conversation->session().recipe().name();
  const double keep = conversation->session().recipe().keep();
  const std::string backend = conversation->engine().backend();
  conversation.reset();

  say(console, "3. A new process: resume and ask again");
  SATCHEL_TRY_ASSIGN(const Json resumed, run_second_process(options, options.store, console));
  Json json = report(full, packed, resumed);
  json["kv_bytes_fp16"] = stats.fp16_bytes;
  json["kv_bytes"] = stats.bytes;
  json["body_bytes_fp16"] = stats.body_fp16_bytes;
  json["body_bytes"] = stats.body_bytes;
  json["agreement"] = fidelity.agreement;
  json["agreement_tokens"] = fidelity.n_tokens;
  json["kl_nats"] = fidelity.kl;
  json["recipe"] = recipe;
  json["keep"] = keep;
  json["backend"] = backend;
  return json;
}

}  // namespace

void add_demo(CLI::App& app, const Choose& choose) {
  auto options = std::make_shared<Options>();
  auto second = std::make_shared<bool>(false);
  CLI::App* command =
      app.add_subcommand("demo", "Read, ask, compress, save, resume in a new process, ask again");
  command
      ->add_flag("--second-process", *second,
                 "The part after the restart; the demo starts it itself")
      ->group("");
  add_output_options(*command, *options);
  add_store_option(*command, *options);
  add_model_options(*command, *options);
  add_recipe_options(*command, *options, std::string(kDemoRecipe));
  command->callback([=] {
    choose([=] {
      Console console(options->json, options->quiet);
      const Result<Json> json =
          *second ? resume_and_ask(*options, console) : run(*options, console);
      if (!json.ok()) return console.fail(json.error());
      if (options->json) console.document(*json);
      return int{kExitOk};
    });
  });
}

}  // namespace satchel::app
