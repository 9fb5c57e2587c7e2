// Prefills a text of any length, in spans that fit the memory there is. Each is compressed as its
// recipe says before the next is read.
//   errors   CACHE_FULL if not even a short span fits after everything that can be packed has been;
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
  std::byte* kept = nullptr;     // room of kept_bytes(all that is read) for the last MeasuredRows
  std::span<float> logits = {};  // after the last token
};
struct PrefilledText {
  std::size_t n_spans = 0, n_last = 0;  // spans; tokens of the last one
  kvcache::CompactionReport compacted;
  // The part of it that was reclaimed at the limit, and the bytes that this freed.
  kvcache::CompactionReport reclaimed;
  std::size_t reclaimed_bytes = 0;
};
Result<PrefilledText> prefill_text(Model& model, const TextPass& pass, const PrefillText& what);

// Bytes that must be free in the arena to read a message of so many tokens.
std::size_t message_needs(const Model& model, const kvcache::Cache& cache, std::size_t n_tokens);

}  // namespace satchel::runtime
