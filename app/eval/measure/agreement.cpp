#include "app/eval/measure/agreement.h"

#include <algorithm>
#include <functional>
#include <string>

#include "app/eval/measure/passes.h"
#include "kernels/base/clock.h"
#include "kvcache/comparison/layer_merge.h"
#include "runtime/fidelity/fidelity.h"
#include "runtime/model/model.h"
#include "runtime/replay/replay.h"

namespace satchel::eval {
namespace {

Result<void> check(const runtime::Engine& engine, const ScoredText& text) {
  if (text.n_prompt == 0 || text.n_prompt >= text.ids.size())
    return Error{ErrorKind::invalid, "PARAM",
                 "The prompt must be shorter than the text, and not empty."};
  if (text.n_at_once == 0 || text.n_at_once > runtime::kFidelityTokens)
    return Error{ErrorKind::invalid, "PARAM",
                 "Teacher forcing takes 1 to " + std::to_string(runtime::kFidelityTokens) +
                     " tokens at once, not " + std::to_string(text.n_at_once) + "."};
  if (text.ids.size() > engine.config().context)
    return context_full(text.ids.size(), engine.config().context);
  return {};
}

// Gets the logits that predict the scored token i.
using See = std::function<void(std::size_t i, std::span<const float> logits)>;

// Merges what is new in the cache; null: nothing.
Result<void> merge(kvcache::LayerMerge* merge, kvcache::Cache& cache) {
  return merge == nullptr ? Result<void>() : merge->merge_new_pages(cache);
}

// logits: after the prompt; lent.
struct Scoring {
  runtime::Engine& engine;
  kvcache::Cache& cache;
  const ScoredText& text;
  std::span<float> logits;
  const std::stop_token& stop;
  kvcache::LayerMerge* merge = nullptr;
};

Result<void> score_singly(const Scoring& now, const See& see) {
  const auto& [engine, cache, text, logits, stop, layers] = now;
  for (std::size_t i = 0; i < text.n_scored(); ++i) {
    if (stop.stop_requested()) return stopped();
    see(i, logits);
    if (i + 1 < text.n_scored())
      SATCHEL_TRY(engine.model().decode_step(cache, text.ids[text.n_prompt + i], logits));
    SATCHEL_TRY(merge(layers, cache));
  }
  return {};
}

Result<void> score_in_chunks(const Scoring& now, const See& see) {
  // No structured binding: a lambda takes these.
  runtime::Engine& engine = now.engine;
  kvcache::Cache& cache = now.cache;
  const ScoredText& text = now.text;
  const runtime::ProgressFn silent;
  const std::size_t row_bytes = engine.config().width * sizeof(float);
  see(0, now.logits);
  for (std::size_t i = 0; i + 1 < text.n_scored();) {
    const std::size_t n = std::min(text.n_at_once, text.n_scored() - 1 - i);
    SATCHEL_TRY_ASSIGN(const auto lease, cache.arena().take_scratch(n * row_bytes));
    const auto rows = [&] { return reinterpret_cast<float*>(lease.data()); };
    const std::size_t end = text.n_prompt + i + n;
    SATCHEL_TRY(engine.model().read_prompt({.cache = cache,
                                            .ids = text.ids.subspan(text.n_prompt + i, n),
                                            .stop = now.stop,
                                            .progress = silent,
                                            .last_rows = rows()}));
    SATCHEL_TRY(each_logits(
        engine.model(), cache.arena(), rows(), n,
        [&](std::size_t row, std::span<const float> of_row) { see(i + 1 + row, of_row); }));
    SATCHEL_TRY(pack_document(engine, cache, text.ids.first(end), TextForm::raw, now.stop));
    SATCHEL_TRY(merge(now.merge, cache));
    i += n;
  }
  return {};
}

Result<void> score_rest(const Scoring& now, const See& see) {
  return now.text.n_at_once == 1 ? score_singly(now, see) : score_in_chunks(now, see);
}

}  // namespace

Result<ExactLogits> exact_logits(runtime::Engine& engine, const ScoredText& text,
                                 std::stop_token stop) {
  SATCHEL_TRY(check(engine, text));
  const std::size_t n_vocabulary = engine.config().n_vocabulary;
  if (text.n_scored() > kExactLogitsBytesMax / (n_vocabulary * sizeof(float)))
    return Error{ErrorKind::invalid, "PARAM",
                 std::to_string(text.n_scored()) +
                     " tokens are too many to compare at once with this model; the limit is " +
                     std::to_string(kExactLogitsBytesMax / (n_vocabulary * sizeof(float))) +
                     ". Use more of the text as the prompt."};
  SATCHEL_TRY_ASSIGN(const kvcache::Recipe full, kvcache::Recipe::builtin("full"));
  SATCHEL_TRY_ASSIGN(const auto cache, open_cache(engine, full, text.ids.size()));
  std::vector<float> logits(n_vocabulary);
  SATCHEL_TRY(read_document(engine, *cache, text.ids.first(text.n_prompt), stop, logits));
  ExactLogits out;
  out.rows.reserve(text.n_scored() * n_vocabulary);
  SATCHEL_TRY(score_rest({engine, *cache, text, logits, stop},
                         [&](std::size_t i, std::span<const float> row) {
                           out.rows.insert(out.rows.end(), row.begin(), row.end());
                           out.nll.push_back(nll(row, text.ids[text.n_prompt + i]));
                         }));
  return out;
}

Result<Agreement> measure_agreement(runtime::Engine& engine, const kvcache::Recipe& recipe,
                                    const ScoredText& text, const ExactLogits& exact,
                                    std::stop_token stop) {
  SATCHEL_TRY(check(engine, text));
  const std::size_t n_vocabulary = engine.config().n_vocabulary;
  SATCHEL_ASSERT(exact.rows.size() == text.n_scored() * n_vocabulary);
  const std::span<const std::int32_t> prompt = text.ids.first(text.n_prompt);
  const SystemClock clock;
  const double began = clock.steady_ms();
  SATCHEL_TRY_ASSIGN(const auto cache, open_cache(engine, recipe, text.ids.size()));
  std::vector<float> logits(n_vocabulary);
  SATCHEL_TRY(read_document(engine, *cache, prompt, stop, logits));
  SATCHEL_TRY(pack_document(engine, *cache, prompt, TextForm::raw, stop));
  kvcache::LayerMerge layers;
  kvcache::LayerMerge* const merges = text.merges_layers ? &layers : nullptr;
  SATCHEL_TRY(merge(merges, *cache));
  Agreement out;
  out.stats = cache->stats();
  out.merge_saves = layers.saved_bytes();
  const double read = clock.steady_ms();
  out.read_ms = read - began;
  SATCHEL_TRY(
      score_rest({engine, *cache, text, logits, stop, merges},
                 [&](std::size_t i, std::span<const float> packed) {
                   const std::span<const float> row =
                       std::span<const float>(exact.rows).subspan(i * n_vocabulary, n_vocabulary);
                   const runtime::Fidelity one = runtime::compare_logits(row, packed, n_vocabulary);
                   out.tokens.push_back({.same = one.agreement > 0.5,
                                         .kl = one.kl,
                                         .exact_nll = exact.nll[i],
                                         .packed_nll = nll(packed, text.ids[text.n_prompt + i])});
                 }));
  out.scored_ms = clock.steady_ms() - read;
  return out;
}

}  // namespace satchel::eval
