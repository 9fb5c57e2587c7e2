// Prefills a text of any length: in spans that fit the memory there is, each compressed
// as its recipe says before the next.
//   errors   CACHE_FULL where not even a short span fits after all that can be packed has been;
//            cancelled/STOPPED; those of model and cache. Spans that were read stay read.
//   threads  as the Model's
#pragma once

#include <cstddef>
#include <span>

#include "kvcache/cache/cache.h"
#include "runtime/prefill/pack.h"

namespace satchel::runtime {

struct PrefillText {
  std::size_t end = 0;  // of the text: reads from cache.n_tokens() to here
  kvcache::SegmentKind kind = kvcache::SegmentKind::document;
  std::byte* kept = nullptr;  // of the last span: kept_bytes(all that is read) for its KeptPrefill
  std::span<float> logits = {};  // after the last token
};
struct PrefilledText {
  std::size_t n_spans = 0, n_last = 0;  // that it went in; tokens of the last
  kvcache::CompactionReport compacted;
  // Of it what was reclaimed under the limit, and the bytes that gave.
  kvcache::CompactionReport reclaimed;
  std::size_t reclaimed_bytes = 0;
};
Result<PrefilledText> prefill_text(Model& model, const TextPass& pass, const PrefillText& what);

// Bytes of the arena that must be free so that a message of so many tokens can be read.
std::size_t message_needs(const Model& model, const kvcache::Cache& cache, std::size_t n_tokens);

}  // namespace satchel::runtime
