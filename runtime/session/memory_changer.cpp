#include "runtime/session/memory_changer.h"

#include <algorithm>
#include <utility>

#include "kernels/base/size_text.h"

namespace satchel::runtime {

Result<MemoryChange> MemoryChanger::change(const MemoryRequest& request, std::stop_token stop,
                                           const ProgressFn& progress) {
  // A lost cache may come back where it takes less memory.
  SATCHEL_TRY(prefill_.need_cache(
      request.limit_bytes > 0 ? kvcache::Arena::rounded_down(request.limit_bytes) : SIZE_MAX));
  SATCHEL_TRY(parts_.transcript.settle());
  SATCHEL_TRY(prefill_.past().rest_under(planner_.own_bytes_under(planner_.limit_of(request))));
  SATCHEL_TRY_ASSIGN(MemoryTrial trial, planner_.try_out(request));
  MemoryChange& change = trial.change;
  if (!change.fits) return planner_.limit_error(request, change.limit_least);
  const std::size_t limit = planner_.limit_of(request);
  const bool rises = limit > parts_.cache->arena().bytes();
  if (trial.rereads) {
    if (rises) SATCHEL_TRY(raise_limit(limit, stop, progress));
    SATCHEL_TRY(set_recipe(*request.recipe, stop, progress));
    parts_.meter.drop_rows();
    SATCHEL_TRY(shrink_under(planner_.own_bytes_under(limit), change));
  } else {
    SATCHEL_TRY(come_down(trial, request, stop));
    if (rises) SATCHEL_TRY(raise_limit(limit, stop, progress));
  }
  const std::size_t used = parts_.cache->arena().used_bytes();
  if (used > limit) return planner_.limit_error(request, std::max(change.limit_least, used));
  if (limit < parts_.cache->arena().bytes()) SATCHEL_TRY(parts_.engine.set_budget(limit));
  change.bytes_after = parts_.cache->stats().bytes;
  change.reread = parts_.cache.take_rereads();
  change.n_reread = n_reread(change.reread);
  prefill_.past().try_again();
  return change;
}

Result<ReadReport> MemoryChanger::set_recipe(const kvcache::Recipe& recipe, std::stop_token stop,
                                             const ProgressFn& progress) {
  ChatCache& cache = parts_.cache;
  SATCHEL_TRY(prefill_.need_cache());
  SATCHEL_TRY(parts_.transcript.settle());
  parts_.meter.drop_rows();
  prefill_.past().forget_from(0);
  const Result<void> changed = cache.change_recipe(recipe);
  const bool is_as_before = !changed.ok() && (cache.is_lost() || cache.n_tokens() > 0);
  if (is_as_before) return changed.error();
  parts_.meter.forget_measured();
  SATCHEL_TRY(prefill_.need_script());
  SATCHEL_TRY_ASSIGN(const ReadReport read, prefill_.reread(std::move(stop), progress));
  if (!changed.ok()) return changed.error();
  return read;
}

// The cost is measured if there is memory for that, and goes to the ledger.
Result<void> MemoryChanger::come_down(MemoryTrial& trial, const MemoryRequest& request,
                                      const std::stop_token& stop) {
  ChatMeter& meter = parts_.meter;
  MemoryChange& change = trial.change;
  const Result<kvcache::Arena::Lease> before = planner_.last_rows(*parts_.cache, stop);
  if (!before.ok() && before.error().kind == ErrorKind::cancelled) return before.error();
  meter.drop_rows();
  if (trial.copy != nullptr) {
    parts_.cache.replace(std::move(trial.copy), *request.recipe);
    meter.forget_measured();
    // An evicted token does not count as lowered, though it may have been before.
    meter.note(LedgerCause::asked, {.n_evicted = change.n_evicted, .n_lowered = change.n_lowered},
               change.bytes_before);
    SATCHEL_TRY(prefill_.need_script());
  }
  SATCHEL_TRY(shrink_under(trial.own_most, change));
  if (!before.ok() || change.n_lowered + change.n_evicted == 0) return {};
  const Result<Fidelity> cost = planner_.cost_since(*before, *parts_.cache, stop);
  if (!cost.ok()) return {};  // the change is done, measured or not
  change.cost = *cost;
  meter.note_cost(*cost);
  return {};
}

// Shrinks the chat's pages before the limit is lowered.
Result<void> MemoryChanger::shrink_under(std::size_t most, MemoryChange& change) {
  kvcache::Cache& cache = *parts_.cache;
  if (cache.stats().bytes <= most) return {};
  const CacheContents before = parts_.meter.contents();
  const Result<kvcache::CompactionReport> shrunk = cache.compactor().shrink_to(most);
  parts_.meter.note_since(LedgerCause::asked, before);  // also what was done before an error
  SATCHEL_TRY(shrunk);
  add(change, *shrunk, cache);
  return {};
}

// Above what was reserved: saves the cache, allocates new memory and restores the cache.
Result<void> MemoryChanger::raise_limit(std::size_t limit, std::stop_token stop,
                                        const ProgressFn& progress) {
  ChatCache& cache = parts_.cache;
  const std::size_t capacity = cache->arena().capacity_bytes();
  if (limit <= capacity) return parts_.engine.set_budget(limit);
  if (!cache.has_store())
    return Error{ErrorKind::invalid, "CACHE_LIMIT",
                 "The memory limit of a chat that is not saved can be raised to " +
                     size_text(capacity) + " at most, which was reserved when it was opened."};
  SATCHEL_TRY(parts_.engine.check_alone());
  if (cache.n_tokens() > 0) SATCHEL_TRY(cache.save(parts_.transcript.tokens(), stop));
  parts_.meter.drop_rows();
  const Result<void> raised = cache.take_memory(limit);
  if (!cache.awaits_restore()) return raised;
  SATCHEL_TRY(prefill_.restore_saved());
  SATCHEL_TRY(prefill_.reread(std::move(stop), progress));
  return raised;
}

}  // namespace satchel::runtime
