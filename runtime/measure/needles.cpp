#include "runtime/measure/needles.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "kernels/base/clock.h"
#include "runtime/measure/passes.h"
#include "runtime/model/model.h"

namespace satchel::runtime {
namespace {

using Ids = std::vector<std::int32_t>;

std::string_view without_blanks_before(std::string_view text) {
  const std::size_t at = text.find_first_not_of(" \t\r\n");
  return at == std::string_view::npos ? std::string_view() : text.substr(at);
}

// Bytes above ASCII count as letters.
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}

// No further token can change what says_first() says, and the word is whole for people to see.
bool said_enough(std::string_view said, std::string_view value) {
  said = without_blanks_before(said);
  return said.size() > value.size() &&
         !std::all_of(said.begin() + std::ptrdiff_t(value.size()), said.end(), is_letter);
}

// One recipe's way through one context.
class Reading {
 public:
  Reading(Engine& engine, std::unique_ptr<kvcache::Cache> cache, const std::stop_token& stop)
      : engine_(engine),
        cache_(std::move(cache)),
        stop_(stop),
        logits_(engine.config().n_vocabulary) {}

  // The question is not known while this packs.
  Result<void> read(const Ids& ids) {
    SATCHEL_TRY(read_document(engine_, *cache_, ids, stop_, logits_));
    return pack_document(engine_, *cache_, ids, stop_);
  }
  // Asked on a copy of the cache, so that no question knows of another.
  Result<std::string> answer(const Ids& question, std::string_view value);
  kvcache::Cache& cache() { return *cache_; }

 private:
  Result<void> step(kvcache::Cache& cache, std::int32_t id) {
    if (stop_.stop_requested()) return stopped();
    return engine_.model().decode_step(cache, id, logits_);
  }

  Engine& engine_;
  std::unique_ptr<kvcache::Cache> cache_;
  const std::stop_token& stop_;
  std::vector<float> logits_;
};

Result<std::string> Reading::answer(const Ids& question, std::string_view value) {
  SATCHEL_TRY_ASSIGN(const std::unique_ptr<kvcache::Cache> copy, cache_->fork());
  for (const std::int32_t id : question) SATCHEL_TRY(step(*copy, id));
  Ids answer;
  std::string said;
  while (answer.size() < kNeedleTokensMax) {
    const auto best = std::max_element(logits_.begin(), logits_.end()) - logits_.begin();
    const auto id = static_cast<std::int32_t>(best);
    if (engine_.tokenizer().ends_turn(id)) break;
    answer.push_back(id);
    said = engine_.tokenizer().text(answer);
    if (said_enough(said, value)) break;
    SATCHEL_TRY(step(*copy, id));
  }
  return said;
}

// The ids of a context and its questions.
struct Encoded {
  Ids context;
  std::vector<Ids> questions;
  std::size_t n_tokens_max = 0;  // that the cache has to hold

  static Result<Encoded> of(const Tokenizer& tokenizer, const NeedleContext& context,
                            bool without_context);
};

Result<Encoded> Encoded::of(const Tokenizer& tokenizer, const NeedleContext& context,
                            bool without_context) {
  Encoded out;
  // A cache needs something to go on from where there is no context: its bos, if the model has one.
  if (tokenizer.adds_bos() && tokenizer.bos()) out.context.push_back(*tokenizer.bos());
  if (!without_context) {
    SATCHEL_TRY_ASSIGN(const Ids ids, tokenizer.encode(context.text, SpecialText::as_text));
    out.context.insert(out.context.end(), ids.begin(), ids.end());
  }
  for (const Needle& needle : context.needles) {
    SATCHEL_TRY_ASSIGN(out.questions.emplace_back(),
                       tokenizer.encode(needle.ask, SpecialText::as_text));
    out.n_tokens_max = std::max(out.n_tokens_max, out.questions.back().size());
  }
  out.n_tokens_max += out.context.size() + kNeedleTokensMax;
  return out;
}

void count(const kvcache::CacheStats& stats, NeedleScore& score) {
  score.n_tokens += stats.n_tokens;
  score.n_tokens_min =
      score.n_tokens_min == 0 ? stats.n_tokens : std::min(score.n_tokens_min, stats.n_tokens);
  score.n_kept += stats.n_kept;
  score.n_evicted += stats.n_evicted;
  score.bytes += stats.bytes;
  score.fp16_bytes += stats.fp16_bytes;
  score.body_bytes += stats.body_bytes;
  score.body_fp16_bytes += stats.body_fp16_bytes;
}

Result<Reading> read_context(Engine& engine, const kvcache::Recipe& recipe, const Encoded& encoded,
                             const std::stop_token& stop) {
  if (encoded.n_tokens_max > engine.config().context)
    return context_full(encoded.n_tokens_max, engine.config().context);
  SATCHEL_TRY_ASSIGN(auto cache, open_cache(engine, recipe, encoded.n_tokens_max));
  Reading reading(engine, std::move(cache), stop);
  if (!encoded.context.empty()) SATCHEL_TRY(reading.read(encoded.context));
  return reading;
}

Result<void> ask_context(Engine& engine, const kvcache::Recipe& recipe, const NeedleTask& task,
                         std::size_t number, const std::stop_token& stop, NeedleScore& score) {
  const NeedleContext& context = task.contexts[number];
  SATCHEL_TRY_ASSIGN(const Encoded encoded,
                     Encoded::of(engine.tokenizer(), context, task.without_contexts));
  const SystemClock clock;
  const double began = clock.steady_ms();
  SATCHEL_TRY_ASSIGN(Reading reading, read_context(engine, recipe, encoded, stop));
  const double read = clock.steady_ms();
  score.read_ms += read - began;
  count(reading.cache().stats(), score);
  for (std::size_t i = 0; i < context.needles.size(); ++i) {
    const std::string& value = context.needles[i].value;
    SATCHEL_TRY_ASSIGN(std::string said, reading.answer(encoded.questions[i], value));
    const bool right = says_first(said, value);
    ++score.n_questions;
    if (right) ++score.n_right;
    if (task.judged)
      task.judged({.context = number, .needle = i, .said = std::move(said), .right = right});
  }
  score.answer_ms += clock.steady_ms() - read;
  return {};
}

}  // namespace

bool says_first(std::string_view said, std::string_view value) {
  said = without_blanks_before(said);
  if (!said.starts_with(value)) return false;
  return said.size() == value.size() || !is_letter(said[value.size()]);
}

Result<NeedleScore> measure_needles(Engine& engine, const kvcache::Recipe& recipe,
                                    const NeedleTask& task, const std::stop_token& stop) {
  NeedleScore score;
  for (std::size_t i = 0; i < task.contexts.size(); ++i)
    SATCHEL_TRY(ask_context(engine, recipe, task, i, stop, score));
  return score;
}

}  // namespace satchel::runtime
