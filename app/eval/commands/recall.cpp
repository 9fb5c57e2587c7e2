// `satchel eval recall`.
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "app/eval/commands/evaluate.h"
#include "app/eval/commands/recall_chat.h"
#include "app/eval/commands/task_options.h"
#include "app/paths.h"

namespace satchel::app {
namespace {

class RecallTask final : public Task {
 public:
  RecallTask(std::vector<RecallConversation> conversations, const RecallOptions& options)
      : conversations_(std::move(conversations)), options_(options) {}

  std::string_view name() const override { return "recall"; }
  std::span<const app::Measure> measures() const override { return kMeasures; }
  Json settings() const override {
    return {{"question", options_.question}, {"without_notes", options_.without_notes}};
  }
  Result<void> prepare(runtime::Engine& engine) override;
  Result<Measured> measure(runtime::Engine& engine, const kvcache::Recipe& recipe, std::size_t item,
                           std::stop_token stop) override {
    return hold_conversation(engine, recipe, conversations_[item], options_, std::move(stop));
  }

 private:
  static inline const std::array<app::Measure, 1> kMeasures = {
      app::Measure{.name = "recall", .label = "right answers"}};

  std::vector<RecallConversation> conversations_;
  RecallOptions options_;
};

Result<void> RecallTask::prepare(runtime::Engine&) {
  for (const RecallConversation& each : conversations_) {
    Json content = {each.notes};
    for (const RecallExchange& exchange : each.exchanges)
      content.push_back({exchange.text, exchange.value, exchange.kind});
    items_.push_back(
        {.set = each.set, .name = std::to_string(each.number), .content = content.dump()});
  }
  return {};
}

// Beside the bundled model, installed or in the source tree.
Result<std::string> held_out_file() {
  const std::filesystem::path path =
      standard_paths({}).bundled_model.parent_path() / "notes-heldout.jsonl";
  std::error_code error;
  if (std::filesystem::exists(path, error)) return path.string();
  return Error{
      ErrorKind::not_found, "DOC_NOT_FOUND",
      "The bundled model's questions are missing (" + path.string() +
          "). Pass a FILE with one conversation per line: {\"notes\": \"…\", \"exchanges\": "
          "[{\"ask\": \"…\", \"value\": \"…\"}]}."};
}

bool is_one_of(const std::string& name, const std::vector<std::string>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Result<void> all_are_there(const std::vector<std::string>& sets,
                           const std::vector<RecallConversation>& conversations) {
  std::vector<std::string> known;
  for (const RecallConversation& each : conversations)
    if (!is_one_of(each.set, known)) known.push_back(each.set);
  for (const std::string& set : sets) {
    if (is_one_of(set, known)) continue;
    std::string text = "Unknown set \"" + set + "\". Available sets:";
    for (const std::string& each : known) text += " " + each;
    return Error{ErrorKind::invalid, "PARAM", text};
  }
  return {};
}

Result<std::vector<RecallConversation>> chosen_conversations(const RecallOptions& options,
                                                             const std::string& file) {
  SATCHEL_TRY_ASSIGN(const std::vector<RecallConversation> all, read_recall_file(file));
  SATCHEL_TRY(all_are_there(options.sets, all));
  std::vector<RecallConversation> chosen;
  std::map<std::string, std::size_t> n_of_set;
  for (const RecallConversation& each : all) {
    if (!options.sets.empty() && !is_one_of(each.set, options.sets)) continue;
    if (options.n_conversations != 0 && ++n_of_set[each.set] > options.n_conversations) continue;
    chosen.push_back(each);
  }
  const bool asks = std::any_of(chosen.begin(), chosen.end(), [](const auto& each) {
    return std::any_of(each.exchanges.begin(), each.exchanges.end(),
                       [](const RecallExchange& exchange) { return exchange.judged(); });
  });
  if (!asks) return Error{ErrorKind::corrupt, "DOC_FORMAT", file + " contains no questions."};
  return chosen;
}

}  // namespace

void add_recall_options(CLI::App& command, RecallOptions& options) {
  command
      .add_option("FILE", options.file,
                  "Questions about notes, one conversation per line (JSON); default: the bundled "
                  "model's, about names it has never seen")
      ->type_name("");
  add_question_options(command, options);
  command.add_flag("--without-notes", options.without_notes,
                   "Ask without the notes, to measure guessing");
}

void add_question_options(CLI::App& command, RecallOptions& options) {
  command.add_option("--sets", options.sets, "Ask only the questions of these sets; default: all")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      .add_option("--conversations", options.n_conversations,
                  "Maximum conversations per set; 0: all")
      ->check(whole_number())
      ->capture_default_str();
  command
      .add_option("--question", options.question,
                  "Whether the question is known during compression")
      ->check(CLI::IsMember({"unknown", "known"}))
      ->capture_default_str();
}

Result<TaskPtr> make_recall_task(const RecallOptions& options) {
  std::string file = options.file;
  if (file.empty()) {
    SATCHEL_TRY_ASSIGN(file, held_out_file());
  }
  SATCHEL_TRY_ASSIGN(std::vector<RecallConversation> conversations,
                     chosen_conversations(options, file));
  return TaskPtr(std::make_unique<RecallTask>(std::move(conversations), options));
}

void add_eval_recall(CLI::App& eval, const Choose& choose) {
  add_task_command<RecallOptions>(eval, choose, "recall",
                                  "Ask about notes that were read and compressed",
                                  add_recall_options, make_recall_task);
}

}  // namespace satchel::app
