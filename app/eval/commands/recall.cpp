// `satchel eval recall`.
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "app/eval/commands/evaluate.h"
#include "app/eval/commands/recall_chat.h"
#include "app/eval/commands/recall_together.h"
#include "app/eval/commands/task_options.h"
#include "app/paths.h"

namespace satchel::app {
namespace {

class RecallTask final : public Task {
 public:
  RecallTask(std::vector<RecallConversation> conversations, const RecallOptions& options)
      : conversations_(std::move(conversations)), options_(options) {}

  std::string_view name() const override { return "recall"; }
  std::span<const app::Measure> measures() const override {
    return std::span(kMeasures).first(options_.n_together > 1 ? kMeasures.size() : 1);
  }
  Json settings() const override {
    return {{"question", options_.question}, {"without_notes", options_.without_notes}};
  }
  Result<void> prepare(runtime::Engine& engine) override;
  Result<Measured> measure(runtime::Engine& engine, const kvcache::Recipe& recipe, std::size_t item,
                           std::stop_token stop) override {
    const std::size_t first = firsts_[item];
    if (options_.n_together > 1)
      return hold_together(engine, recipe,
                           std::span(conversations_).subspan(first, options_.n_together),
                           std::move(stop));
    return hold_conversation(engine, recipe, conversations_[first], options_, std::move(stop));
  }

 private:
  // The others only where several are asked together.
  static inline const std::array<app::Measure, 3> kMeasures = {
      app::Measure{.name = "recall", .label = "right answers"},
      app::Measure{.name = "alone", .shown = Shown::in_tables},
      app::Measure{.name = "tokens",
                   .is_share = false,
                   .higher_is_better = false,
                   .shown = Shown::in_tables}};

  // From the first one, as many as are read together; false: the file has no more of this set.
  bool add_item(std::size_t first);

  std::vector<RecallConversation> conversations_;
  std::vector<std::size_t> firsts_;  // of each item, into conversations_
  RecallOptions options_;
};

bool RecallTask::add_item(std::size_t first) {
  const std::size_t n = options_.n_together;
  const std::string& set = conversations_[first].set;
  Json content = Json::array();
  for (std::size_t i = first; i < first + n; ++i) {
    if (i == conversations_.size() || conversations_[i].set != set) return false;
    content.push_back(conversations_[i].notes);
    for (const RecallExchange& exchange : conversations_[i].exchanges)
      content.push_back({exchange.text, exchange.value, exchange.kind});
  }
  firsts_.push_back(first);
  items_.push_back({.set = n > 1 ? set + " x " + std::to_string(n) : set,
                    .name = std::to_string(conversations_[first].number),
                    .content = content.dump()});
  return true;
}

Result<void> RecallTask::prepare(runtime::Engine&) {
  items_.clear();
  firsts_.clear();
  for (std::size_t i = 0; i < conversations_.size();) i += add_item(i) ? options_.n_together : 1;
  if (!items_.empty()) return {};
  return Error{
      ErrorKind::invalid, "PARAM",
      "No set has " + std::to_string(options_.n_together) + " conversations to read together."};
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
  command
      .add_option("--together", options.n_together,
                  "Read the notes of so many conversations in one chat, beyond the context, and "
                  "ask beside it what each answers alone")
      ->check(whole_number(1))
      ->capture_default_str();
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

Result<std::vector<RecallConversation>> recall_conversations(const RecallOptions& options) {
  std::string file = options.file;
  if (file.empty()) {
    SATCHEL_TRY_ASSIGN(file, held_out_file());
  }
  return chosen_conversations(options, file);
}

Result<TaskPtr> make_recall_task(const RecallOptions& options) {
  SATCHEL_TRY_ASSIGN(std::vector<RecallConversation> conversations, recall_conversations(options));
  return TaskPtr(std::make_unique<RecallTask>(std::move(conversations), options));
}

void add_eval_recall(CLI::App& eval, const Choose& choose) {
  add_task_command<RecallOptions>(eval, choose, "recall",
                                  "Ask about notes that were read and compressed",
                                  add_recall_options, make_recall_task);
}

}  // namespace satchel::app
