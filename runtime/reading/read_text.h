// Reading a text of any length into a cache: in spans that fit the memory there is, each compressed
// as its recipe says before the next, and the second pass over text that waits for one.
//   errors   CACHE_FULL where not even a short span fits after all that can be packed has been;
//            cancelled/STOPPED; those of model and cache. Spans that were read stay read.
//   threads  as the Model's
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stop_token>
#include <vector>

#include "kvcache/cache.h"
#include "kvcache/cache_forecast.h"
#include "runtime/model/model.h"
#include "runtime/progress.h"

namespace satchel::runtime {

// What the model is told so that it says a text again, as token ids. A stretch that begins in the
// middle of a text is pointed to by the tokens before it.
//   source  arXiv:2505.23416 (KVzip) section 3.2
struct RepeatScript {
  std::vector<std::int32_t> first;  // before a stretch that begins a text
  std::vector<std::int32_t> later;  // before the tokens that precede another stretch …
  std::vector<std::int32_t> then;   // … and between them and it
};
inline constexpr std::size_t kHookTokens = 8;  // as the paper's code

struct TextPass {
  kvcache::Cache& cache;
  // The chat's token ids; the cache has seen the first cache.n_tokens() of them.
  std::span<const std::int32_t> text;
  const RepeatScript& script;
  std::stop_token stop;
  const ProgressFn& progress;
};

struct ReadText {
  std::size_t end = 0;  // of the text: reads from cache.n_tokens() to here
  kvcache::SpanKind kind = kvcache::SpanKind::document;
  std::byte* kept = nullptr;  // of the last span: kept_bytes(all that is read) for its KeptReading
  std::span<float> logits = {};  // after the last token
};
struct TextRead {
  std::size_t n_spans = 0, n_last = 0;  // pieces it went in; tokens of the last
  kvcache::CompactionReport compacted;
  // Of it what made room under the limit, and the bytes that gave.
  kvcache::CompactionReport room;
  std::size_t room_bytes = 0;
};
Result<TextRead> read_text(Model& model, const TextPass& pass, const ReadText& what);

// What a cache would hold of a text of so many tokens once read_text() and pack_all() are done with it,
// read in the same spans as they would be. Where memory ends before the text does, what it would hold
// if that did not.
//   needs   an empty forecast of this model
void forecast_text(const ModelConfig& config, std::size_t n_tokens,
                   kvcache::CacheForecast& forecast);

// Bytes of the arena that must be free so that a message of so many tokens can be read.
std::size_t message_needs(const Model& model, const kvcache::Cache& cache, std::size_t n_tokens);

// One stretch of a second pass, or, when all have been looked at, the decision; false: nothing waits.
Result<bool> pack_step(Model& model, const TextPass& pass, kvcache::CompactionReport& report);
// Steps until nothing waits.
Result<kvcache::CompactionReport> pack_all(Model& model, const TextPass& pass);

}  // namespace satchel::runtime
