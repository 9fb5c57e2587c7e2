// Another limit or recipe for an open chat: tried on a copy first, done at once where nothing has to
// come back.
#include <algorithm>
#include <utility>

#include "kernels/base/size_text.h"
#include "runtime/governor/coarser.h"
#include "runtime/model/scratch.h"
#include "runtime/session/session_state.h"

namespace satchel::runtime {
namespace {

constexpr std::size_t kMessageTokens = 64;  // chosen: a question
constexpr std::size_t kCostTokens = 64;     // chosen: as many as say something, in part of a second

std::size_t less(std::size_t from, std::size_t bytes) {
  return from - std::min(from, bytes);
}

// A limit that is enough also when it is typed in as people read it: 30.8 MB.
std::size_t as_shown(std::size_t bytes) {
  constexpr std::size_t kStep = 100'000;
  return (kvcache::Arena::rounded_up(bytes) + kStep) / kStep * kStep;
}

// A token that went through several tiers counts once.
void add(MemoryChange& change, const kvcache::CompactionReport& report, const kvcache::Cache& now) {
  std::size_t n_in_pages = 0;
  for (const kvcache::TierStats& tier : now.stats().tiers) n_in_pages += tier.n_tokens;
  change.n_lowered = std::min(change.n_lowered + report.n_lowered, n_in_pages);
  change.n_evicted += report.n_evicted;
}

}  // namespace

std::size_t Session::State::limit_of(const MemoryWish& wish) const {
  return wish.limit_bytes == 0 ? cache->arena().bytes()
                               : kvcache::Arena::rounded_down(wish.limit_bytes);
}

// What the engine holds beside this chat: rows kept for a measurement are not counted, as they go first.
std::size_t Session::State::others_bytes() const {
  kvcache::Arena& arena = cache->arena();
  const std::size_t rows = exact_rows.n > 0 ? arena.bytes_of(exact_rows.extent) : 0;
  return less(arena.used_bytes(), cache->stats().bytes + rows);
}

// Beside the chat's cache: those, and what a short message takes while it is read.
std::size_t Session::State::bytes_beside() const {
  return others_bytes() + message_needs(*engine.model, *cache, kMessageTokens) +
         cache->step_needs();
}

// What the chat's cache may take, so that it can go on under the limit.
std::size_t Session::State::own_bytes_under(std::size_t limit) const {
  return less(limit, bytes_beside());
}

Result<Estimate> Session::State::estimate_of(const kvcache::Recipe& recipe, std::size_t limit,
                                             EstimateAsks asks) const {
  const std::size_t n = transcript.tokens().size();
  return estimate(engine.model->config(), 0, recipe,
                  {.n_tokens = std::clamp<std::size_t>(n, 1, engine.model->config().context),
                   .budget_bytes = limit,
                   .asks = asks});
}

// Whether the recipe keeps less than what the chat was read under, so that nothing has to come back.
Result<bool> Session::State::comes_down(const kvcache::Recipe& recipe) const {
  if (recipe.keep() > options.recipe.keep()) return false;
  const std::size_t limit = cache->arena().bytes();
  SATCHEL_TRY_ASSIGN(const Estimate now, estimate_of(options.recipe, limit));
  SATCHEL_TRY_ASSIGN(const Estimate then, estimate_of(recipe, limit));
  return then.cache_bytes <= now.cache_bytes;
}

// A second cache of this chat, brought down to the recipe if it is another; null where there is no room
// for one, or it has to be read again.
Result<std::unique_ptr<kvcache::Cache>> Session::State::copy_under(
    const kvcache::Recipe& recipe, kvcache::CompactionReport& report) const {
  const auto made = [&]() -> Result<std::unique_ptr<kvcache::Cache>> {
    if (recipe.hash() == options.recipe.hash()) return cache->fork();
    SATCHEL_TRY_ASSIGN(std::unique_ptr<kvcache::Cache> copy, cache->fork(recipe));
    SATCHEL_TRY_ASSIGN(report, copy->follow_recipe());
    return copy;
  };
  Result<std::unique_ptr<kvcache::Cache>> copy = made();
  const bool is_expected = !copy.ok() && (copy.error().code == "CACHE_RECIPE" ||
                                          copy.error().kind == ErrorKind::out_of_memory);
  if (is_expected) return std::unique_ptr<kvcache::Cache>();
  return copy;
}

// Hidden states of the last tokens over what `of` holds, in scratch.
Result<kvcache::Arena::Lease> Session::State::last_rows(kvcache::Cache& of,
                                                        const std::stop_token& stop) const {
  const std::size_t n = std::min(kCostTokens, n_read()), first = n_read() - n;
  SATCHEL_TRY_ASSIGN(kvcache::Arena::Lease rows,
                     cache->arena().take_scratch(n * engine.model->config().width * sizeof(float)));
  SATCHEL_TRY(engine.model->replay({.cache = of,
                                    .ids = transcript.tokens().subspan(first, n),
                                    .first = first,
                                    .stop = stop,
                                    .rows = reinterpret_cast<float*>(rows.data())}));
  return rows;
}

// What `now` says of the last tokens otherwise than it was said before.
Result<Fidelity> Session::State::cost_since(const kvcache::Arena::Lease& before,
                                            kvcache::Cache& now,
                                            const std::stop_token& stop) const {
  SATCHEL_TRY_ASSIGN(const kvcache::Arena::Lease then, last_rows(now, stop));
  SATCHEL_TRY_ASSIGN(
      Fidelity cost,
      engine.model->compare(
          cache->arena(), [&] { return reinterpret_cast<const float*>(before.data()); },
          reinterpret_cast<const float*>(then.data()), std::min(kCostTokens, n_read())));
  cost.measured_at = n_read();
  cost.measured_ms = clock.wall_ms();
  return cost;
}

// Everything again: a step up, or one that the cache cannot take as it is. It is read under the higher
// of the two limits, as change_memory() does.
Result<MemoryChange> Session::State::reread_change(const MemoryWish& wish) const {
  const kvcache::CacheStats stats = cache->stats();
  MemoryChange change{.bytes_before = stats.bytes, .n_lane_tokens = stats.n_kept};
  change.n_reread = transcript.tokens().size();
  change.reread_ms = engine.read_ms_per_token * static_cast<double>(change.n_reread);
  const std::size_t limit = limit_of(wish), limit_reading = std::max(limit, cache->arena().bytes());
  SATCHEL_TRY_ASSIGN(const Estimate after,
                     estimate_of(*wish.recipe, limit_reading, {.expected_bytes = true}));
  change.bytes_after = std::min(after.expected_bytes, own_bytes_under(limit));
  const std::size_t for_all =
      std::max(after.pool_bytes + others_bytes(), after.expected_bytes + bytes_beside());
  if (limit < for_all) {
    change.limit_all = as_shown(for_all);
    change.bytes_all = after.expected_bytes;
  }
  SATCHEL_TRY_ASSIGN(const kvcache::Recipe floor, wish.recipe->at_floor());
  SATCHEL_TRY_ASSIGN(const Estimate least, estimate_of(floor, limit_reading));
  SATCHEL_TRY_ASSIGN(const std::size_t to_open, least_budget(engine.model->config(), *wish.recipe));
  const std::size_t needed = std::max(least.pool_bytes, to_open);
  change.limit_least = as_shown(needed);
  change.fits = needed <= limit;
  return change;
}

// Without a wish for another recipe the chat's own. The chat's own, wished for, brings back what room
// was made of.
Result<Session::State::Trial> Session::State::try_out(const MemoryWish& wish) const {
  const bool other = wish.recipe && wish.recipe->hash() != options.recipe.hash();
  Trial trial{.own_most = own_bytes_under(limit_of(wish))};  // before a copy takes some
  const std::size_t beside = bytes_beside();
  if (other || (wish.recipe && n_coarser_than(*wish.recipe, cache->stats()) > 0)) {
    bool down = false;
    if (other) {
      SATCHEL_TRY_ASSIGN(down, comes_down(*wish.recipe));
    }
    if (down) {
      SATCHEL_TRY_ASSIGN(trial.copy, copy_under(*wish.recipe, trial.report));
    }
    if (trial.copy == nullptr) {
      trial.rereads = true;
      SATCHEL_TRY_ASSIGN(trial.change, reread_change(wish));
      return trial;
    }
  }
  const kvcache::CacheStats stats = cache->stats();
  trial.change = {.bytes_before = stats.bytes, .n_lane_tokens = stats.n_kept};
  const kvcache::Cache& held = other ? *trial.copy : *cache;
  add(trial.change, trial.report, held);
  SATCHEL_TRY_ASSIGN(const std::size_t to_open,
                     least_budget(engine.model->config(), held.recipe()));
  trial.opens = to_open <= limit_of(wish);
  const std::size_t needed = std::max(held.floor_bytes() + beside, to_open);
  trial.change.limit_least = as_shown(needed);
  trial.change.bytes_after = held.stats().bytes;
  trial.change.fits =
      needed <= limit_of(wish) || (trial.opens && trial.change.bytes_after <= trial.own_most);
  return trial;
}

Result<MemoryChange> Session::preview_memory(const MemoryWish& wish, std::stop_token stop) {
  State& s = *state_;
  SATCHEL_TRY(s.need_cache());
  SATCHEL_TRY_ASSIGN(State::Trial trial, s.try_out(wish));
  MemoryChange& change = trial.change;
  if (trial.rereads) return change;
  const std::size_t most = trial.own_most;
  if (change.bytes_after > most) {
    if (trial.copy == nullptr) {
      SATCHEL_TRY_ASSIGN(trial.copy, s.copy_under(s.options.recipe, trial.report));
    }
    change.bytes_after = most;  // where there is no room to try it
    if (trial.copy == nullptr) return change;
    const Result<kvcache::CompactionReport> shrunk = trial.copy->shrink_to(most);
    if (!shrunk.ok() && shrunk.error().kind != ErrorKind::out_of_memory) return shrunk.error();
    if (!shrunk.ok()) return change;
    add(change, *shrunk, *trial.copy);
    change.bytes_after = trial.copy->stats().bytes;
    change.fits = trial.opens && change.bytes_after <= most;
  }
  if (trial.copy == nullptr || change.n_lowered + change.n_evicted == 0) return change;
  const auto measured = [&]() -> Result<Fidelity> {
    SATCHEL_TRY_ASSIGN(const kvcache::Arena::Lease before, s.last_rows(*s.cache, stop));
    return s.cost_since(before, *trial.copy, stop);
  };
  const Result<Fidelity> cost = measured();
  if (cost.ok()) change.cost = *cost;
  if (!cost.ok() && cost.error().kind != ErrorKind::out_of_memory) return cost.error();
  return change;
}

Error Session::State::limit_error(const MemoryWish& wish, std::size_t least) const {
  // As it was asked for: the arena rounds it down.
  const std::size_t limit = wish.limit_bytes == 0 ? limit_of(wish) : wish.limit_bytes;
  return {ErrorKind::invalid, "LIMIT",
          "A memory limit of " + size_text(limit) + " is too small for this chat of " +
              count_text(n_read()) + " tokens: recipe \"" +
              (wish.recipe ? *wish.recipe : options.recipe).name() + "\" needs " +
              size_text(least) +
              ". Raise the limit, choose a smaller preset, or start a new chat."};
}

// The chat's pages fit a lower limit before it falls.
Result<void> Session::State::shrink_under(std::size_t most, MemoryChange& change) {
  if (cache->stats().bytes <= most) return {};
  const Held before = held();
  const Result<kvcache::CompactionReport> shrunk = cache->shrink_to(most);
  note_since(LedgerCause::asked, before);  // also what was done before an error
  SATCHEL_TRY(shrunk);
  add(change, *shrunk, *cache);
  return {};
}

// An empty cache over an arena of another size. Where there is room for both arenas nothing changes if
// that fails; else the old one goes first, and if the new one cannot be had it is taken again; if it is
// gone by then, the cache is lost.
Result<void> Session::State::take_memory(std::size_t limit) {
  const std::size_t before = cache->arena().bytes();
  const kvcache::CacheShape shape = cache->shape();
  Result<std::shared_ptr<kvcache::Arena>> other = kvcache::Arena::open(engine.backend, limit);
  if (other.ok()) {
    SATCHEL_TRY_ASSIGN(
        std::unique_ptr<kvcache::Cache> opened,
        kvcache::Cache::open({.backend = engine.backend, .arena = *other}, shape, options.recipe));
    snapshot.reset();
    cache = std::move(opened);
    engine.take_arena(std::move(*other));
    return {};
  }
  snapshot.reset();
  cache.reset();
  const Result<void> raised = engine.set_budget(limit);
  SATCHEL_TRY(take_cache(before));
  return raised;
}

// More than was reserved: the cache is saved, the memory taken anew, the cache restored.
Result<void> Session::State::raise_limit(std::size_t limit, std::stop_token stop,
                                         const ProgressFn& progress) {
  if (limit <= cache->arena().capacity_bytes()) return engine.set_budget(limit);
  if (snapshot == nullptr)
    return Error{ErrorKind::invalid, "CACHE_LIMIT",
                 "The memory limit of a chat that is not saved can be raised to " +
                     size_text(cache->arena().capacity_bytes()) + " only, as reserved."};
  SATCHEL_TRY(engine.check_alone());
  if (n_read() > 0) SATCHEL_TRY(snapshot->save(identity(n_read())));
  drop_rows();
  const Result<void> raised = take_memory(limit);
  if (cache == nullptr || snapshot != nullptr) return raised;  // else this cache is an empty one
  SATCHEL_TRY(restore_saved());
  Result<ReadReport> read = read_unread(std::move(stop), progress);
  if (!read.ok()) return explain_reread(std::move(read).error());
  return raised;
}

// What it costs is measured where there is room for it; the ledger has it then.
Result<void> Session::State::come_down(Trial& trial, const MemoryWish& wish,
                                       const std::stop_token& stop) {
  MemoryChange& change = trial.change;
  const Result<kvcache::Arena::Lease> before = last_rows(*cache, stop);
  if (!before.ok() && before.error().kind == ErrorKind::cancelled) return before.error();
  drop_rows();
  meter.ledger.close();
  if (trial.copy != nullptr) {
    snapshot.reset();
    cache = std::move(trial.copy);
    options.recipe = *wish.recipe;
    forget_measured();
    // What is gone did not become coarser, though it may have on its way out.
    note(LedgerCause::asked, {.n_evicted = change.n_evicted, .n_lowered = change.n_lowered},
         change.bytes_before);
    open_snapshot();
    script = {};
    SATCHEL_TRY(make_script());
  }
  SATCHEL_TRY(shrink_under(trial.own_most, change));
  if (!before.ok() || change.n_lowered + change.n_evicted == 0) return {};
  const Result<Fidelity> cost = cost_since(*before, *cache, stop);
  if (!cost.ok()) return {};  // it is done, measured or not
  change.cost = *cost;
  meter.ledger.measured(*cost);
  return {};
}

Result<MemoryChange> Session::change_memory(const MemoryWish& wish, std::stop_token stop,
                                            const ProgressFn& progress) {
  State& s = *state_;
  // What cannot be had may be had with less.
  const std::size_t lost_limit = s.lost_limit;
  if (s.cache == nullptr && wish.limit_bytes > 0)
    s.lost_limit = std::min(lost_limit, kvcache::Arena::rounded_down(wish.limit_bytes));
  if (Result<void> had = s.need_cache(); !had.ok()) {
    s.lost_limit = lost_limit;
    return had.error();
  }
  SATCHEL_TRY(s.transcript.settle());
  SATCHEL_TRY_ASSIGN(State::Trial trial, s.try_out(wish));
  MemoryChange& change = trial.change;
  if (!change.fits) return s.limit_error(wish, change.limit_least);
  const std::size_t limit = s.limit_of(wish);
  const bool rises = limit > s.cache->arena().bytes();
  if (trial.rereads) {
    if (rises) SATCHEL_TRY(s.raise_limit(limit, stop, progress));
    SATCHEL_TRY(set_recipe(*wish.recipe, stop, progress));
    s.drop_rows();
    SATCHEL_TRY(s.shrink_under(s.own_bytes_under(limit), change));
  } else {
    SATCHEL_TRY(s.come_down(trial, wish, stop));
    if (rises) SATCHEL_TRY(s.raise_limit(limit, stop, progress));
  }
  const std::size_t used = s.cache->arena().used_bytes();
  if (used > limit) return s.limit_error(wish, std::max(change.limit_least, used));
  if (limit < s.cache->arena().bytes()) SATCHEL_TRY(s.engine.set_budget(limit));
  change.bytes_after = s.cache->stats().bytes;
  return change;
}

}  // namespace satchel::runtime
