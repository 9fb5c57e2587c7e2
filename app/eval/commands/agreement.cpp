// `satchel eval agreement`.
#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <utility>

#include "app/eval/commands/evaluate.h"
#include "app/eval/commands/task_options.h"
#include "app/eval/measure/agreement.h"
#include "app/eval/measure/packed_text.h"
#include "kernels/base/size_text.h"

namespace satchel::app {
namespace {

// Neighbouring positions share what was lost; 32 of them are taken as one draw for the standard
// error (chosen: KL along a text is correlated over some ten tokens), and two such as one kind.
constexpr std::size_t kBlockTokens = 32, kKindTokens = 64;

using Ids = std::vector<std::int32_t>;

class AgreementTask final : public Task {
 public:
  AgreementTask(std::vector<std::string> texts, const AgreementOptions& options)
      : texts_(std::move(texts)), options_(options) {}

  std::string_view name() const override { return "agreement"; }
  std::span<const app::Measure> measures() const override { return kMeasures; }
  bool grades_stretches() const override { return true; }
  Json settings() const override {
    Json json = {{"tokens", options_.n_tokens},
                 {"prompt_tokens", options_.n_prompt},
                 {"at_once", options_.n_at_once}};
    if (options_.merges_layers) json["merge_layers"] = true;
    return json;
  }
  Result<void> prepare(runtime::Engine& engine) override;
  Result<Measured> measure(runtime::Engine& engine, const kvcache::Recipe& recipe, std::size_t item,
                           std::stop_token stop) override;

 private:
  static inline const std::array<app::Measure, 4> kMeasures = {
      app::Measure{.name = "agreement", .label = "same next token"},
      app::Measure{.name = "kl_nats",
                   .is_share = false,
                   .higher_is_better = false,
                   .label = "KL from the exact cache, nats"},
      app::Measure{.name = "nll_packed",
                   .is_share = false,
                   .higher_is_better = false,
                   .shown = Shown::in_tables},
      app::Measure{.name = "nll_exact",
                   .is_share = false,
                   .higher_is_better = false,
                   .shown = Shown::nowhere}};

  std::vector<std::string> texts_;
  AgreementOptions options_;
  std::vector<Ids> ids_;
  // Of the item measured last: its recipes come one after the other.
  std::optional<std::size_t> exact_of_;
  eval::ExactLogits exact_;
};

Result<void> AgreementTask::prepare(runtime::Engine& engine) {
  if (options_.n_tokens > engine.config().context)
    return Error{ErrorKind::invalid, "CONTEXT_FULL",
                 "--tokens asks for " + count_text(options_.n_tokens) +
                     " tokens, but the model's context is " + count_text(engine.config().context) +
                     "."};
  for (std::size_t i = 0; i < texts_.size(); ++i) {
    SATCHEL_TRY_ASSIGN(Ids ids, runtime::raw_ids(engine.tokenizer(), texts_[i]));
    if (ids.size() < options_.n_tokens)
      return Error{ErrorKind::invalid, "PARAM",
                   "\"" + options_.texts[i] + "\" has " + count_text(ids.size()) +
                       " tokens, but --tokens asks for " + count_text(options_.n_tokens) + "."};
    ids.resize(options_.n_tokens);
    items_.push_back({.set = std::filesystem::path(options_.texts[i]).stem().string(),
                      .name = options_.texts[i],
                      .content = engine.tokenizer().text(ids)});
    ids_.push_back(std::move(ids));
  }
  return {};
}

// Blocks of compared positions; each says in which stretch it lies.
std::vector<Grade> grades_of(const eval::Agreement& measured) {
  std::vector<Grade> grades;
  const std::size_t n = measured.tokens.size();
  for (std::size_t at = 0; at < n; at += kBlockTokens) {
    const std::size_t first = at / kKindTokens * kKindTokens;
    Grade grade;
    grade.kind = std::to_string(first + 1) + "-" + std::to_string(std::min(n, first + kKindTokens));
    grade.sums.assign(4, 0);
    const std::size_t end = std::min(n, at + kBlockTokens);
    grade.n = static_cast<double>(end - at);
    for (std::size_t i = at; i < end; ++i) {
      const eval::Compared& token = measured.tokens[i];
      grade.sums[0] += token.same ? 1 : 0;
      grade.sums[1] += token.kl;
      grade.sums[2] += token.packed_nll;
      grade.sums[3] += token.exact_nll;
    }
    grades.push_back(std::move(grade));
  }
  return grades;
}

Result<Measured> AgreementTask::measure(runtime::Engine& engine, const kvcache::Recipe& recipe,
                                        std::size_t item, std::stop_token stop) {
  const eval::ScoredText text{.ids = ids_[item],
                              .n_prompt = options_.n_prompt,
                              .n_at_once = options_.n_at_once,
                              .merges_layers = options_.merges_layers};
  if (exact_of_ != item) {
    exact_of_.reset();
    exact_ = {};  // before the next is made: they are large
    SATCHEL_TRY_ASSIGN(exact_, eval::exact_logits(engine, text, stop));
    exact_of_ = item;
  }
  SATCHEL_TRY_ASSIGN(const eval::Agreement measured,
                     eval::measure_agreement(engine, recipe, text, exact_, stop));
  Measured out;
  out.held = Held::of(measured.stats, measured.merge_saves);
  out.read_ms = measured.read_ms;
  out.answer_ms = measured.scored_ms;
  out.grades = grades_of(measured);
  return out;
}

}  // namespace

CLI::Option* add_merge_option(CLI::App& command, bool& merges_layers) {
  return command.add_flag(
      "--merge-layers", merges_layers,
      "Measure MiniCache: merge the directions of keys and values of neighbouring layers in the "
      "exact cache (--recipes full). Its bytes are those that it would take");
}

void add_scoring_options(CLI::App& command, AgreementOptions& options) {
  command.add_option("--tokens", options.n_tokens, "Tokens to use of each text")
      ->check(whole_number())
      ->capture_default_str();
  command
      .add_option("--prompt-tokens", options.n_prompt, "How many of these to read as one prompt")
      ->check(whole_number())
      ->capture_default_str();
  command
      .add_option("--at-once", options.n_at_once,
                  "Tokens to score at a time (teacher forcing) in the rest; 1: as in decoding")
      ->check(CLI::Range(std::size_t{1}, runtime::kFidelityTokens))
      ->capture_default_str();
}

void add_agreement_options(CLI::App& command, AgreementOptions& options) {
  command.add_option("--text", options.texts, "Text files to read and score by teacher forcing")
      ->type_name("FILE")
      ->required();
  add_scoring_options(command, options);
  add_merge_option(command, options.merges_layers);
}

Result<TaskPtr> make_agreement_task(const AgreementOptions& options) {
  if (options.n_prompt == 0 || options.n_prompt >= options.n_tokens)
    return Error{ErrorKind::invalid, "PARAM",
                 "--prompt-tokens must be at least 1 and less than --tokens."};
  std::vector<std::string> texts;
  for (const std::string& path : options.texts) {
    SATCHEL_TRY_ASSIGN(texts.emplace_back(), read_text_file(path));
  }
  return TaskPtr(std::make_unique<AgreementTask>(std::move(texts), options));
}

void add_eval_agreement(CLI::App& eval, const Choose& choose) {
  add_task_command<AgreementOptions>(
      eval, choose, "agreement", "Compare next tokens along texts with those of the exact cache",
      add_agreement_options, make_agreement_task);
}

}  // namespace satchel::app
