// CacheStats: what the lanes of a cache hold, counted as allocated.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace satchel::kvcache {

struct LayerStats {
  std::size_t n_kept_min = 0, n_kept_max = 0;  // tokens per lane: sinks, body and tail
  std::size_t n_pages = 0;                     // of all lanes
  double k_bits = 16, v_bits = 16;             // per value in the body, metadata counted
};
struct TierStats {
  std::string name;  // "exact", "8 bits", then as the recipe's codecs call themselves
  std::size_t n_tokens = 0, bytes = 0;  // lane-tokens in pages
};
struct CacheStats {
  std::size_t n_tokens = 0;    // of the text: evicted ones and unread ones included
  std::size_t n_unread = 0;    // of them, in episodes that no lane has seen yet
  std::size_t fp16_bytes = 0;  // what all that were seen would take in fp16
  // allocated: sinks and tails at full capacity, pages, scores, scratch of compaction, running
  // states
  std::size_t bytes = 0;
  // Beside these: checkpoints of recurrent states, which go first where memory is short.
  std::size_t n_checkpoints = 0, checkpoint_bytes = 0;
  // fp16 of all tokens that are neither sink nor tail, evicted ones included
  std::size_t body_fp16_bytes = 0;
  std::size_t body_bytes = 0;             // pages as allocated; of far ones what stays in memory
  std::size_t far_bytes = 0;              // of far pages, in the far store
  std::size_t copy_bytes = 0;             // of the arena's: far pages that are in memory for now
  std::size_t n_kept = 0, n_evicted = 0;  // tokens, summed over lanes
  std::size_t n_resting = 0;  // likewise: those of episodes that are kept elsewhere for now
  std::size_t n_pending = 0, n_pending_probed = 0;  // tokens of the text that wait for a decision
  std::size_t arena_bytes = 0, arena_used_bytes = 0, arena_peak_bytes = 0;  // of the arena
  // Of lanes, since the cache was made or opened: what refits they got (stages/stage.h).
  std::size_t n_fits = 0, n_fits_dropped = 0;
  std::vector<LayerStats> layers;
  std::vector<TierStats> tiers;
};

struct CacheState;
CacheStats stats_of(const CacheState& cache);

}  // namespace satchel::kvcache
