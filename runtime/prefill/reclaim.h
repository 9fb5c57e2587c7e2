// Reclaiming: what is done, and in which order, when the memory limit is reached.
//   1 pending text is packed
//   2 the recipe's steps for when memory is short: lower tiers or evict, as it lists them
//   3 pending and pinned text goes to 8 bits
//   4 the user is asked: CACHE_FULL, from whoever could not go on
#pragma once

#include <cstddef>
#include <functional>

#include "runtime/prefill/pack.h"

namespace satchel::runtime {

struct ReclaimGoal {
  // Whether enough was freed; called after each step.
  std::function<bool()> is_reached;
  // Bytes of the arena that step 2 has to free; called when pending text has been packed.
  std::function<std::size_t()> needed_bytes;
  bool spares_pinned = false;  // stops before step 3
};
struct Reclaimed {
  kvcache::CompactionReport packed;   // by step 1
  kvcache::CompactionReport lowered;  // by steps 2 and 3
  std::size_t lowered_bytes = 0;      // freed by them
};
Result<Reclaimed> reclaim(Model& model, const TextPass& pass, const ReclaimGoal& goal);

}  // namespace satchel::runtime
