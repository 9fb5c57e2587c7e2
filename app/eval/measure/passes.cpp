#include "app/eval/measure/passes.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "runtime/engine_state.h"
#include "runtime/prefill/repeat_script.h"

namespace satchel::eval {
Result<std::shared_ptr<kvcache::Arena>> large_arena(runtime::Engine& engine,
                                                    const kvcache::Recipe& recipe,
                                                    std::size_t n_tokens) {
  SATCHEL_TRY_ASSIGN(const kvcache::Recipe full, kvcache::Recipe::builtin("full"));
  SATCHEL_TRY_ASSIGN(const runtime::Estimate need, engine.estimate(recipe, {.n_tokens = n_tokens}));
  SATCHEL_TRY_ASSIGN(const runtime::Estimate exact, engine.estimate(full, {.n_tokens = n_tokens}));
  return kvcache::Arena::open(engine.state().backend, 2 * (need.arena_bytes + exact.arena_bytes));
}

Result<std::unique_ptr<kvcache::Cache>> open_cache(runtime::Engine& engine,
                                                   const kvcache::Recipe& recipe,
                                                   std::size_t n_tokens) {
  SATCHEL_TRY_ASSIGN(std::shared_ptr<kvcache::Arena> arena, large_arena(engine, recipe, n_tokens));
  return kvcache::Cache::open(std::move(arena), engine.config().cache_shape(), recipe);
}

Result<void> read_document(runtime::Engine& engine, kvcache::Cache& cache,
                           std::span<const std::int32_t> ids, std::stop_token stop,
                           std::span<float> logits) {
  const runtime::ProgressFn silent;
  const runtime::RepeatScript none;
  SATCHEL_TRY(runtime::prefill_text(
      engine.model(),
      {.cache = cache, .text = ids, .script = none, .stop = std::move(stop), .progress = silent},
      {.end = ids.size(), .logits = logits}));
  return {};
}

Result<void> pack_document(runtime::Engine& engine, kvcache::Cache& cache,
                           std::span<const std::int32_t> ids, TextForm form, std::stop_token stop) {
  const runtime::ProgressFn silent;
  runtime::RepeatScript script;
  if (cache.needs_second_pass()) {
    SATCHEL_TRY_ASSIGN(script, form == TextForm::chat ? runtime::chat_script(engine.tokenizer(),
                                                                             engine.chat_template())
                                                      : runtime::raw_script(engine.tokenizer()));
  }
  SATCHEL_TRY(runtime::pack_all(engine.model(), {.cache = cache,
                                                 .text = ids,
                                                 .script = script,
                                                 .stop = std::move(stop),
                                                 .progress = silent}));
  return {};
}

double nll(std::span<const float> logits, std::int32_t id) {
  double top = -INFINITY, sum = 0;
  for (const float x : logits) top = std::max(top, double{x});
  for (const float x : logits) sum += std::exp(double{x} - top);
  return top + std::log(sum) - double{logits[static_cast<std::size_t>(id)]};
}

Error stopped() {
  return {ErrorKind::cancelled, "STOPPED", "Stopped."};
}

Error context_full(std::size_t n_tokens, std::size_t context) {
  return {ErrorKind::invalid, "CONTEXT_FULL",
          std::to_string(n_tokens) + " tokens are needed, but the model's context is " +
              std::to_string(context) + "."};
}

}  // namespace satchel::eval
