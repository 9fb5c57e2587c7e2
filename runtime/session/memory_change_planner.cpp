#include "runtime/session/memory_change_planner.h"

#include <algorithm>

#include "kernels/base/size_text.h"
#include "runtime/prefill/prefill_text.h"
#include "runtime/replay/replay.h"

namespace satchel::runtime {
namespace {

constexpr std::size_t kMessageTokens = 64;  // chosen: a question
constexpr std::size_t kCostTokens = 64;     // chosen: as many as say something, in part of a second

std::size_t less(std::size_t from, std::size_t bytes) {
  return from - std::min(from, bytes);
}

// A limit that is enough even when typed in as it is shown: 30.8 MB.
std::size_t as_shown(std::size_t bytes) {
  constexpr std::size_t kStep = 100'000;
  return (kvcache::Arena::rounded_up(bytes) + kStep) / kStep * kStep;
}

}  // namespace

void add(MemoryChange& change, const kvcache::CompactionReport& report, const kvcache::Cache& now) {
  std::size_t n_in_pages = 0;
  for (const kvcache::TierStats& tier : now.stats().tiers) n_in_pages += tier.n_tokens;
  change.n_lowered = std::min(change.n_lowered + report.n_lowered, n_in_pages);
  change.n_evicted += report.n_evicted;
}

std::size_t MemoryChangePlanner::limit_of(const MemoryRequest& request) const {
  return request.limit_bytes == 0 ? parts_.cache->arena().bytes()
                                  : kvcache::Arena::rounded_down(request.limit_bytes);
}

// What the engine holds beside this chat. Rows kept for a measurement are not counted: they go
// first.
std::size_t MemoryChangePlanner::others_bytes() const {
  kvcache::Arena& arena = parts_.cache->arena();
  return less(arena.used_bytes(), parts_.cache->stats().bytes + parts_.meter.rows_bytes());
}

// Beside the chat's cache: those, and what a short message takes while it is read.
std::size_t MemoryChangePlanner::bytes_beside() const {
  return others_bytes() + message_needs(*parts_.engine.model, *parts_.cache, kMessageTokens) +
         parts_.cache->step_needs();
}

std::size_t MemoryChangePlanner::own_bytes_under(std::size_t limit) const {
  return less(limit, bytes_beside());
}

Result<Estimate> MemoryChangePlanner::estimate_of(const kvcache::Recipe& recipe, std::size_t limit,
                                                  EstimateAsks asks) const {
  const std::size_t n = parts_.transcript.tokens().size();
  return estimate(parts_.engine.model->config(), 0, recipe,
                  {.n_tokens = std::clamp<std::size_t>(n, 1, parts_.engine.model->config().context),
                   .budget_bytes = limit,
                   .asks = asks});
}

// Whether the recipe keeps less than the one the chat was read under, so that nothing has to be
// read again.
Result<bool> MemoryChangePlanner::comes_down(const kvcache::Recipe& recipe) const {
  if (recipe.keep() > parts_.cache.recipe().keep()) return false;
  const std::size_t limit = parts_.cache->arena().bytes();
  SATCHEL_TRY_ASSIGN(const Estimate now, estimate_of(parts_.cache.recipe(), limit));
  SATCHEL_TRY_ASSIGN(const Estimate then, estimate_of(recipe, limit));
  return then.cache_bytes <= now.cache_bytes;
}

// A second cache of this chat, compressed as the recipe says if it is another one. Null if there is
// no memory for it, or if it would have to be read again.
Result<std::unique_ptr<kvcache::Cache>> MemoryChangePlanner::copy_under(
    const kvcache::Recipe& recipe, kvcache::CompactionReport& report) const {
  const auto made = [&]() -> Result<std::unique_ptr<kvcache::Cache>> {
    if (recipe.hash() == parts_.cache.recipe().hash()) return parts_.cache->fork();
    SATCHEL_TRY_ASSIGN(std::unique_ptr<kvcache::Cache> copy, parts_.cache->fork(recipe));
    SATCHEL_TRY_ASSIGN(report, copy->compactor().follow_recipe());
    return copy;
  };
  Result<std::unique_ptr<kvcache::Cache>> copy = made();
  const bool is_expected = !copy.ok() && (copy.error().code == "CACHE_RECIPE" ||
                                          copy.error().kind == ErrorKind::out_of_memory);
  if (is_expected) return std::unique_ptr<kvcache::Cache>();
  return copy;
}

// Of the text that attention sees where it stands.
std::size_t MemoryChangePlanner::n_cost_tokens() const {
  return std::min(kCostTokens, parts_.cache.n_tokens() - parts_.cache->reach().near_first);
}

Result<kvcache::Arena::Lease> MemoryChangePlanner::last_rows(kvcache::Cache& of,
                                                             const std::stop_token& stop) const {
  const std::size_t n_read = parts_.cache.n_tokens(), n = n_cost_tokens();
  if (n == 0) return kvcache::Arena::Lease();  // nothing is read: no change costs anything
  return replay_rows(*parts_.engine.model,
                     {.cache = of,
                      .ids = parts_.transcript.tokens().subspan(n_read - n, n),
                      .first = n_read - n,
                      .before = parts_.transcript.tokens().first(n_read - n),
                      .stop = stop});
}

Result<Fidelity> MemoryChangePlanner::cost_since(const kvcache::Arena::Lease& before,
                                                 kvcache::Cache& now,
                                                 const std::stop_token& stop) const {
  const std::size_t n_read = parts_.cache.n_tokens();
  SATCHEL_TRY_ASSIGN(const kvcache::Arena::Lease then, last_rows(now, stop));
  SATCHEL_TRY_ASSIGN(
      Fidelity cost,
      compare_rows(*parts_.engine.model, parts_.cache->arena(),
                   {.exact = [&] { return reinterpret_cast<const float*>(before.data()); },
                    .compressed = reinterpret_cast<const float*>(then.data()),
                    .n_tokens = n_cost_tokens()}));
  cost.measured_at = n_read;
  cost.measured_ms = parts_.clock.wall_ms();
  return cost;
}

// Everything is read again: a finer recipe, or one that the cache cannot follow as it is. It is
// read under the higher of the two limits, as change_memory() does.
Result<MemoryChange> MemoryChangePlanner::reread_change(const MemoryRequest& request) const {
  const kvcache::CacheStats stats = parts_.cache->stats();
  MemoryChange change{.bytes_before = stats.bytes, .n_lane_tokens = stats.n_kept};
  change.n_reread = parts_.transcript.tokens().size();
  add(change.reread, {parts_.cache.reason_under(*request.recipe), change.n_reread});
  change.reread_ms = parts_.engine.reading_ms(change.n_reread);
  const std::size_t limit = limit_of(request),
                    limit_of_prefill = std::max(limit, parts_.cache->arena().bytes());
  SATCHEL_TRY_ASSIGN(const Estimate after,
                     estimate_of(*request.recipe, limit_of_prefill, {.expected_bytes = true}));
  change.bytes_after = std::min(after.expected_bytes, own_bytes_under(limit));
  const std::size_t for_all =
      std::max(after.arena_bytes + others_bytes(), after.expected_bytes + bytes_beside());
  if (limit < for_all) {
    change.limit_all = as_shown(for_all);
    change.bytes_all = after.expected_bytes;
  }
  SATCHEL_TRY_ASSIGN(const kvcache::Recipe floor, request.recipe->at_floor());
  SATCHEL_TRY_ASSIGN(const Estimate least, estimate_of(floor, limit_of_prefill));
  SATCHEL_TRY_ASSIGN(const std::size_t to_open,
                     least_budget(parts_.engine.model->config(), *request.recipe));
  const std::size_t needed = std::max(least.arena_bytes, to_open);
  change.limit_least = as_shown(needed);
  change.fits = needed <= limit;
  return change;
}

Result<MemoryTrial> MemoryChangePlanner::try_out(const MemoryRequest& request) const {
  const kvcache::Recipe& own = parts_.cache.recipe();
  const bool other = request.recipe && request.recipe->hash() != own.hash();
  MemoryTrial trial{.own_most = own_bytes_under(limit_of(request))};  // before a copy takes some
  const std::size_t beside = bytes_beside();
  if (other || (request.recipe && n_coarser_than(*request.recipe, parts_.cache->stats()) > 0)) {
    if (other) {
      SATCHEL_TRY_ASSIGN(const bool down, comes_down(*request.recipe));
      if (down) {
        SATCHEL_TRY_ASSIGN(trial.copy, copy_under(*request.recipe, trial.report));
      }
    }
    if (trial.copy == nullptr) {
      trial.rereads = true;
      SATCHEL_TRY_ASSIGN(trial.change, reread_change(request));
      return trial;
    }
  }
  SATCHEL_TRY(finish_trial(request, beside, trial));
  return trial;
}

// If nothing has to be read again.
Result<void> MemoryChangePlanner::finish_trial(const MemoryRequest& request, std::size_t beside,
                                               MemoryTrial& trial) const {
  const kvcache::CacheStats stats = parts_.cache->stats();
  kvcache::Cache& held = trial.copy != nullptr ? *trial.copy : *parts_.cache;
  trial.change = {.bytes_before = stats.bytes, .n_lane_tokens = stats.n_kept};
  add(trial.change, trial.report, held);
  SATCHEL_TRY_ASSIGN(const std::size_t to_open,
                     least_budget(parts_.engine.model->config(), held.recipe()));
  trial.opens = to_open <= limit_of(request);
  const std::size_t needed = std::max(held.compactor().floor_bytes() + beside, to_open);
  trial.change.limit_least = as_shown(needed);
  trial.change.bytes_after = held.stats().bytes;
  trial.change.fits =
      needed <= limit_of(request) || (trial.opens && trial.change.bytes_after <= trial.own_most);
  return {};
}

// If the copy (made now if there is none) does not fit as it is. Without memory to try it, there is
// no copy, and bytes_after is an estimate.
Result<void> MemoryChangePlanner::shrink_copy(MemoryTrial& trial) const {
  MemoryChange& change = trial.change;
  if (trial.copy == nullptr) {
    SATCHEL_TRY_ASSIGN(trial.copy, copy_under(parts_.cache.recipe(), trial.report));
  }
  change.bytes_after = trial.own_most;
  if (trial.copy == nullptr) return {};
  const Result<kvcache::CompactionReport> shrunk =
      trial.copy->compactor().shrink_to(trial.own_most);
  if (!shrunk.ok()) {
    trial.copy = nullptr;
    return shrunk.error().kind == ErrorKind::out_of_memory ? Result<void>() : shrunk.error();
  }
  add(change, *shrunk, *trial.copy);
  change.bytes_after = trial.copy->stats().bytes;
  change.fits = trial.opens && change.bytes_after <= trial.own_most;
  return {};
}

Result<MemoryChange> MemoryChangePlanner::preview(const MemoryRequest& request,
                                                  std::stop_token stop) const {
  SATCHEL_TRY_ASSIGN(MemoryTrial trial, try_out(request));
  MemoryChange& change = trial.change;
  if (trial.rereads) return change;
  if (change.bytes_after > trial.own_most) SATCHEL_TRY(shrink_copy(trial));
  if (trial.copy == nullptr || change.n_lowered + change.n_evicted == 0) return change;
  const auto measured = [&]() -> Result<Fidelity> {
    SATCHEL_TRY_ASSIGN(const kvcache::Arena::Lease before, last_rows(*parts_.cache, stop));
    return cost_since(before, *trial.copy, stop);
  };
  const Result<Fidelity> cost = measured();
  if (cost.ok()) change.cost = *cost;
  if (!cost.ok() && cost.error().kind != ErrorKind::out_of_memory) return cost.error();
  return change;
}

Error MemoryChangePlanner::limit_error(const MemoryRequest& request, std::size_t least) const {
  // As it was asked for: the arena rounds it down.
  const std::size_t limit = request.limit_bytes == 0 ? limit_of(request) : request.limit_bytes;
  return {ErrorKind::invalid,
          "LIMIT",
          "A memory limit of " + size_text(limit) + " is too small for this chat of " +
              count_text(parts_.cache.n_tokens()) + " tokens: recipe \"" +
              (request.recipe ? *request.recipe : parts_.cache.recipe()).name() + "\" needs " +
              size_text(least) + ". Raise the limit, choose a smaller preset, or start a new chat.",
          {{"limit_bytes", limit}, {"least_limit_bytes", least}}};
}

}  // namespace satchel::runtime
