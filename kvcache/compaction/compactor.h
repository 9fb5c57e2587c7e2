// Compactor: what a cache can do about the size of text it holds.
//   needs   no open prefill; undoes an open step
//   errors  the backend's; every lane is whole after one
#pragma once

#include <cstddef>

#include "kernels/base/result.h"
#include "kvcache/compaction/compaction_report.h"
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {

struct CacheState;

class Compactor {
 public:
  explicit Compactor(CacheState& cache) : cache_(cache) {}

  // The messages and answers that came since the last call may be compressed from now on.
  Result<CompactionReport> end_turn();
  // Decides what is pending and needs no second pass any more. over_limit: also the part of a text
  // that a second pass has seen; what it has not seen goes to the recipe's first tier and stays
  // pending, as its scores are not known; what is pinned or open goes to 8 bits.
  Result<CompactionReport> compact(TriggerEvent event);
  // Until so many bytes of the arena are free, or the recipe allows no more: its steps for when
  // memory is short, each from the oldest text on. What is pinned, open or pending stays as it is.
  // Of far pages none is lowered, here and below: the arena makes room by writing them away.
  Result<CompactionReport> reclaim(std::size_t free_bytes);
  // The same until the cache itself takes no more than so many bytes (CacheStats::bytes).
  Result<CompactionReport> shrink_to(std::size_t bytes);
  // What the cache would take (CacheStats::bytes) if all of those steps were taken: not less than
  // it then does, but for what thinning leaves in pages that stay as they are.
  std::size_t floor_bytes() const;
  // What has been decided comes down to what the recipe would have left of it; nothing comes back.
  Result<CompactionReport> follow_recipe();

 private:
  CacheState& cache_;
};

}  // namespace satchel::kvcache
