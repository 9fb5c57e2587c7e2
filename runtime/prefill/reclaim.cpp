#include "runtime/prefill/reclaim.h"

#include <algorithm>

namespace satchel::runtime {

Result<Reclaimed> reclaim(Model& model, const TextPass& pass, const ReclaimGoal& goal) {
  Reclaimed done;
  SATCHEL_TRY_ASSIGN(done.packed, pack_all(model, pass));
  if (goal.is_reached()) return done;
  const kvcache::Arena& arena = pass.cache.arena();
  const std::size_t before = arena.used_bytes();
  SATCHEL_TRY_ASSIGN(done.lowered, pass.cache.compactor().reclaim(goal.needed_bytes()));
  if (!goal.is_reached() && !goal.spares_pinned) {
    SATCHEL_TRY_ASSIGN(const kvcache::CompactionReport last,
                       pass.cache.compactor().compact(kvcache::TriggerEvent::over_limit));
    done.lowered += last;
  }
  done.lowered_bytes = before - std::min(before, arena.used_bytes());
  return done;
}

}  // namespace satchel::runtime
