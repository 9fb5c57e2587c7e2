// CacheContents: what a cache holds at a moment and what the ledger knows of it. Two of them say
// what the work between them did to the chat.
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
  // Lane-tokens at the tiers from each on, exact ones not counted; and gone.
  std::array<std::size_t, kvcache::kTiersMax> n_from = {};
  std::size_t n_evicted = 0;
  std::size_t n_noted_lowered = 0, n_noted_evicted = 0;  // by the ledger
};

// What went to a coarser tier, or went, between the two; unnoted_between: of that, what the ledger
// did not come to know.
kvcache::CompactionReport done_between(const CacheContents& before, const CacheContents& now);
kvcache::CompactionReport unnoted_between(const CacheContents& before, const CacheContents& now);

// CacheStats::bytes before, had the text that is new since been there in fp16.
std::size_t bytes_with_new_text(const CacheContents& before, const CacheContents& now);

// Whether nothing was lost: every token is held as it was read.
bool is_exact(const kvcache::CacheStats& stats);

// Lane-tokens held coarser than the recipe asks, because memory was reclaimed at the limit: what
// reading the chat again would bring back. Evicted tokens are not among them: no tier tells those
// that the recipe evicts anyway from the others.
//   needs  the stats of a cache of this recipe
std::size_t n_coarser_than(const kvcache::Recipe& recipe, const kvcache::CacheStats& stats);

}  // namespace satchel::runtime
