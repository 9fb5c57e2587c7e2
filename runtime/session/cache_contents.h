// CacheContents: what a cache holds at one moment, and what the ledger knows of it. The difference
// between two says what the work between them did to the chat.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "kvcache/cache/cache.h"
#include "runtime/fidelity/ledger.h"

namespace satchel::runtime {

struct CacheContents {
  CacheContents(const kvcache::CacheStats& stats, std::span<const LedgerEntry> ledger);

  std::size_t bytes = 0, fp16_bytes = 0;  // as CacheStats
  // Lane-tokens at each tier or a coarser one, exact ones not counted; evicted ones; those at rest.
  std::array<std::size_t, kvcache::kTiersMax> n_from = {};
  std::size_t n_evicted = 0, n_resting = 0;
  std::size_t n_noted_lowered = 0, n_noted_evicted = 0;  // by the ledger
};

// What was lowered or evicted between the two; unnoted_between: the part that the ledger does not
// have.
kvcache::CompactionReport done_between(const CacheContents& before, const CacheContents& now);
kvcache::CompactionReport unnoted_between(const CacheContents& before, const CacheContents& now);

// CacheStats::bytes before, as if the text added since had been there in fp16.
std::size_t bytes_with_new_text(const CacheContents& before, const CacheContents& now);

// Whether nothing was lost: every token is held as it was read.
bool is_exact(const kvcache::CacheStats& stats);

// Lane-tokens held coarser than the recipe asks, because memory was reclaimed at the limit: what
// reading the chat again would bring back. Evicted tokens are not among them: no tier tells those
// that the recipe evicts anyway from the others.
//   needs  the stats of a cache of this recipe
std::size_t n_coarser_than(const kvcache::Recipe& recipe, const kvcache::CacheStats& stats);

}  // namespace satchel::runtime
