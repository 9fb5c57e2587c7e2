// `satchel eval chat`.
#include <algorithm>
#include <array>
#include <utility>

#include "app/eval/chat_world/chat_world.h"
#include "app/eval/commands/chat_file.h"
#include "app/eval/commands/evaluate.h"
#include "app/eval/commands/task_options.h"
#include "app/eval/measure/chat_reading.h"

namespace satchel::app {
namespace {

Json content_of(const eval::Chat& chat) {
  Json content = Json::array();
  for (const eval::ChatMessage& message : chat.messages)
    content.push_back({message.speaker == eval::Speaker::user, message.text});
  for (const eval::ChatQuestion& question : chat.questions)
    content.push_back({question.ask, question.value, question.old_values, question.age});
  return content;
}

class ChatTask final : public Task {
 public:
  ChatTask(std::vector<eval::Chat> chats, const ChatOptions& options)
      : chats_(std::move(chats)), options_(options) {}

  std::string_view name() const override { return "chat"; }
  std::span<const Measure> measures() const override { return kMeasures; }
  Json settings() const override {
    return {{"beyond", options_.beyond}, {"context", options_.n_context}, {"held", options_.held}};
  }
  Result<void> prepare(runtime::Engine& engine) override;
  Result<Measured> measure(runtime::Engine& engine, const kvcache::Recipe& recipe, std::size_t item,
                           std::stop_token stop) override;

 private:
  // The last one only of questions about what has changed.
  static inline const std::array<Measure, 5> kMeasures = {
      Measure{.name = "recall", .label = "right answers"},
      Measure{.name = "tokens",
              .is_share = false,
              .higher_is_better = false,
              .shown = Shown::in_tables},
      Measure{
          .name = "ms", .is_share = false, .higher_is_better = false, .shown = Shown::in_tables},
      // Bytes, of what the whole chat takes in fp16.
      Measure{.name = "held", .higher_is_better = false, .shown = Shown::in_tables},
      Measure{.name = "stale", .higher_is_better = false, .shown = Shown::in_tables}};

  eval::ChatAsking asking() const;

  std::vector<eval::Chat> chats_;
  ChatOptions options_;
};

eval::ChatAsking ChatTask::asking() const {
  const auto at = std::ranges::find(eval::kBeyondNames, options_.beyond);
  return {.beyond = static_cast<eval::Beyond>(at - std::begin(eval::kBeyondNames)),
          .n_context = options_.n_context,
          .held = options_.held};
}

Result<void> ChatTask::prepare(runtime::Engine& engine) {
  if (options_.n_context > engine.config().context)
    return Error{ErrorKind::invalid, "CONTEXT_FULL",
                 "--context " + std::to_string(options_.n_context) +
                     " exceeds the model's context of " + std::to_string(engine.config().context) +
                     " tokens."};
  items_.clear();
  for (const eval::Chat& chat : chats_)
    items_.push_back({.set = chat.set, .name = chat.name, .content = content_of(chat).dump()});
  return {};
}

Grade grade_of(const eval::ChatQuestion& question, const eval::ChatAnswer& answer, double n_tokens,
               double held) {
  const std::string& said = answer.spoken.text;
  const eval::ChatVerdict verdict = eval::judge(question, said);
  Grade grade{.kind = eval::age_group(question),
              .sums = {verdict.right ? 1.0 : 0.0, n_tokens, answer.ms, held},
              .detail = {{"ask", question.ask},
                         {"value", question.value.empty() ? Json() : Json(question.value)},
                         {"old_values", question.old_values},
                         {"answer", said},
                         {"right", verdict.right},
                         {"about", question.about},
                         {"age", question.age},
                         {"context_tokens", answer.spoken.context_tokens}}};
  if (!question.old_values.empty()) grade.sums.push_back(verdict.stale ? 1 : 0);
  return grade;
}

Result<Measured> ChatTask::measure(runtime::Engine& engine, const kvcache::Recipe& recipe,
                                   std::size_t item, std::stop_token stop) {
  const eval::Chat& chat = chats_[item];
  SATCHEL_TRY_ASSIGN(const eval::ChatAnswers given,
                     eval::ask_chat(engine, recipe, chat, asking(), std::move(stop)));
  Measured out;
  out.held = Held::of(given.stats);
  out.read_ms = given.read_ms;
  for (std::size_t i = 0; i < chat.questions.size(); ++i) {
    const eval::ChatAnswer& answer = given.answers[i];
    out.answer_ms += answer.ms;
    if (answer.spoken.cut) ++out.n_cut;
    out.grades.push_back(grade_of(chat.questions[i], answer, tokens_held(out.held), given.held()));
    out.grades.back().detail["dropped_messages"] = given.n_dropped;
  }
  return out;
}

std::vector<eval::Chat> made_chats(const ChatOptions& options) {
  std::vector<eval::Chat> out;
  for (const std::size_t n_messages : options.n_messages)
    for (std::size_t i = 0; i < options.n_chats; ++i) {
      out.push_back(eval::make_chat({.abilities = options.abilities,
                                     .n_messages = n_messages,
                                     .n_questions = options.n_questions,
                                     .seed = options.seed * kSeedStride + i}));
      out.back().name = std::to_string(i);
    }
  return out;
}

void add_made_chat_options(CLI::App& command, ChatOptions& options, CLI::Option* file) {
  command
      .add_option(
          "--abilities", options.abilities,
          "What the generated chats are about: \"notes\" for the bundled model, \"names\" for "
          "other small models, \"general\" for larger ones")
      ->check(one_of_names(eval::chat_abilities()))
      ->capture_default_str()
      ->excludes(file);
  command.add_option("--messages", options.n_messages, "Messages of a generated chat")
      ->delimiter(',')
      ->check(whole_number(2, 100'000))
      ->capture_default_str()
      ->excludes(file);
  command.add_option("--chats", options.n_chats, "Chats per number of messages")
      ->check(whole_number(1))
      ->capture_default_str()
      ->excludes(file);
  command
      .add_option("--questions", options.n_questions,
                  "Maximum questions per chat for each age, and for what was never told")
      ->check(whole_number(1))
      ->capture_default_str()
      ->excludes(file);
  command.add_option("--seed", options.seed, "Random seed; the same seed gives the same chats")
      ->check(whole_number())
      ->capture_default_str()
      ->excludes(file);
}

}  // namespace

void add_chat_options(CLI::App& command, ChatOptions& options) {
  CLI::Option* file =
      command
          .add_option("--file", options.file,
                      "LoCoMo or LongMemEval file as published (JSON); replaces generated chats")
          ->type_name("FILE");
  command.add_option("--examples", options.n_examples, "Maximum chats of the file; 0: all")
      ->check(whole_number())
      ->capture_default_str()
      ->needs(file);
  add_made_chat_options(command, options, file);
  command
      .add_option(
          "--beyond", options.beyond,
          "Where a chat is longer than the context: \"rolling\" drops the oldest messages, "
          "\"stops\" counts its questions as not answered (\"cut\"), \"episodes\" goes on as "
          "Satchel's chats do, \"sinks\" rolls but keeps the first turn, \"epicache\" (with a "
          "recipe "
          "as snapkv) keeps a cache for each topic")
      ->check(one_of_names(std::span(eval::kBeyondNames)))
      ->capture_default_str();
  command
      .add_option(
          "--held", options.held,
          "Bytes to hold of each chat, as a share of all of it in fp16: as much of its text "
          "or its tokens as fits. Default: what --beyond and the recipe keep")
      ->type_name("SHARE")
      ->check(share_range());
  command
      .add_option("--context", options.n_context,
                  "Use only this many tokens of the model's context; 0: all")
      ->check(whole_number())
      ->capture_default_str();
}

Result<TaskPtr> make_chat_task(const ChatOptions& options) {
  std::vector<eval::Chat> chats;
  if (options.file.empty()) {
    chats = made_chats(options);
  } else {
    SATCHEL_TRY_ASSIGN(chats, read_chat_file(options.file, options.n_examples));
  }
  return TaskPtr(std::make_unique<ChatTask>(std::move(chats), options));
}

void add_eval_chat(CLI::App& eval, const Choose& choose) {
  add_task_command<ChatOptions>(eval, choose, "chat",
                                "Measure what a long chat still knows, by the age of each fact",
                                add_chat_options, make_chat_task);
}

}  // namespace satchel::app
