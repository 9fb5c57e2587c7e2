#include "cache_walk.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "kvcache/recipes/pipeline.h"
#include "snapshot_fixture.h"

namespace satchel::kvcache {
namespace {

// Not a failure: memory is full, which the caller is told.
bool is_full(const Error& error) {
  return error.code == "CACHE_FULL" || error.code == "MEMORY";
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + 1))
    text.replace(at, from.size(), to);
}

// The recipe with other groups of channels in its codecs.
std::string regrouped(const std::string& name, std::size_t group) {
  const bool is_packed = name == kPackedH2o;
  for (const BuiltinRecipe& recipe : builtin_recipes()) {
    if (recipe.name != (is_packed ? "h2o" : name)) continue;
    std::string json(recipe.json);
    if (is_packed)
      replace_all(json, ": \"exact\"",
                  ": { \"use\": \"hadamard_affine\", \"bits\": 4, \"group\": 32 }");
    replace_all(json, "\"group\": 32", "\"group\": " + std::to_string(group));
    return json;
  }
  ADD_FAILURE() << "no recipe " << name;
  return name;
}

CacheDriver::Setup varied(const std::string& recipe, CacheDriver::Setup setup) {
  constexpr std::array<std::size_t, 3> kGroups = {32, 16, 32};
  setup.recipe = regrouped(recipe, kGroups[setup.seed % kGroups.size()]);
  setup.varies = recipe;
  const auto parsed = Recipe::parse(setup.recipe);
  EXPECT_TRUE(parsed.ok()) << parsed.error().message;
  constexpr std::array kKeeps = {0.0, 0.15, 0.6};
  const double keep = kKeeps[setup.seed / 2 % kKeeps.size()];
  if (keep > 0 && parsed->pipeline().keep() < 1) setup.keep = keep;
  return setup;
}

}  // namespace

CacheWalk::CacheWalk(const std::string& recipe, const CacheDriver::Setup& setup)
    : rng_(setup.seed), driver_(varied(recipe, setup)), may_fork_(setup.arena_bytes == kPlenty) {
  driver_.check_attention = false;
  const Pipeline& pipeline = driver_.recipe().pipeline();
  merges_ = pipeline.decides() && pipeline.merger().merges();
}

CacheWalk::CacheWalk(const CacheWalk& of, CacheDriver twin)
    : rng_(of.rng_),
      driver_(std::move(twin)),
      checker_(of.checker_),
      merges_(of.merges_),
      may_fork_(false),
      shares_pages_(true) {}

void CacheWalk::run_on(int n_operations) {
  for (int i = 0; i < n_operations && !testing::Test::HasFailure(); ++i) after_one(i, one());
}

void CacheWalk::run(int n_operations) {
  run_on(n_operations);
  finish();
}

void CacheWalk::after_one(int index, const std::string& now) {
  history_ += (history_.empty() ? "" : "; ") + now;
  const std::string& what = history_;
  checker_.checks_values = !merges_ && index % 4 == 1;
  checker_.check(driver_, edit_, what);
  edit_ = {};
  std::vector<CacheDriver*> all = {&driver_};
  if (twin_) all.push_back(&*twin_);
  CacheChecker::check_arena(all, what);
  if (index % 4 == 0) {
    EXPECT_LE(driver_.attention_error(), 2e-3) << what;
  }
}

void CacheWalk::finish() {
  Arena& arena = driver_.arena();
  if (twin_) {
    EXPECT_TRUE(twin_->bytes() == twin_bytes_) << history_;
  }
  driver_.close();
  if (twin_) twin_->close();
  EXPECT_EQ(arena.used_bytes(), 0u);
  arena.check_invariants();
}

void CacheWalk::save_restore_and_go_on(int n_operations) {
  if (testing::Test::HasFailure()) return;
  twin_.reset();
  test::MemoryRecordStore store;
  const std::vector<std::int32_t> ids = driver_.token_ids();
  const SnapshotIdentity identity{
      .model = "model", .recipe = driver_.recipe().hash(), .tokens = ids};
  Snapshot first(driver_.cache(), store, kChat);
  const auto saved = first.save(identity);
  ASSERT_TRUE(saved.ok()) << saved.error().message;
  may_fork_ = false;
  shares_pages_ = true;
  CacheWalk forked(*this, driver_.fork().value()), other(*this, driver_.fork().value());
  forked.driver_.reads_on_as(driver_);
  other.driver_.reads_on_as(driver_);
  other.driver_.cache().clear();
  Snapshot second(other.driver_.cache(), store, kChat);
  const auto restored = second.restore(identity);
  ASSERT_TRUE(restored.ok()) << restored.error().message;
  ASSERT_EQ(restored->reason, ids.empty() ? RereadReason::nothing_saved : RereadReason::none)
      << restored->detail;
  EXPECT_EQ(other.driver_.cache().stats().bytes, driver_.cache().stats().bytes);
  for (int i = 0; i <= n_operations && !testing::Test::HasFailure(); ++i) {
    const std::string what = one();
    history_ += "; " + what;
    for (CacheWalk* each : {&forked, &other}) {
      const char* of = each == &forked ? "fork: " : "restored: ";
      ASSERT_EQ(each->one(), what) << of << history_;
      ASSERT_TRUE(each->driver_.bytes() == driver_.bytes()) << of << history_;
      ASSERT_TRUE(std::ranges::equal(each->driver_.cache().segments(), driver_.cache().segments()))
          << of;
    }
    checker_.checks_values = !merges_ && i == n_operations;
    checker_.check(driver_, edit_, history_);
    edit_ = {};
    CacheChecker::check_arena({&driver_, &forked.driver_, &other.driver_}, history_);
  }
  forked.driver_.close();
  other.driver_.close();
  finish();
}

template <class T>
void CacheWalk::done(const Result<T>& result, const std::string& what,
                     const std::vector<std::byte>& before) {
  if (result.ok()) return;
  ASSERT_TRUE(is_full(result.error())) << what << ": " << result.error().message;
  if (!before.empty()) {
    EXPECT_TRUE(driver_.bytes() == before) << what << " failed, and something has changed";
  }
  ++n_full_;
  if (driver_.cache().n_tokens() > 0)
    (void)driver_.cache().compactor().compact(TriggerEvent::over_limit);
}

std::string CacheWalk::one() {
  const std::size_t n = driver_.cache().n_tokens();
  switch (below(17)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return text();
    case 4:
    case 5:
      return steps(1 + below(150));
    case 6:
      done(driver_.cache().compactor().end_turn(), "end_turn");
      return "end_turn";
    case 7:
      return compact();
    case 8:
    case 9:
      return probe();
    case 10:
      return may_fork_ ? probe_interrupted() : "nothing";
    case 11:
      return may_fork_ ? fork() : "nothing";
    default:
      return n < 20 ? "nothing" : edit(n);
  }
}

std::string CacheWalk::text() {
  switch (below(5)) {
    case 0:
      return read(driver_.cache().n_tokens() == 0 ? SegmentKind::pinned : SegmentKind::message,
                  1 + below(60));
    case 1:
      return read(SegmentKind::message, 1 + below(300));
    default:
      return read(SegmentKind::document, 1 + below(300));
  }
}

std::string CacheWalk::compact() {
  if (below(3) == 0) {
    const std::size_t more = below(std::size_t{64} << 10);
    if (shares_pages_) return "nothing";  // how much it must lower depends on the others
    done(driver_.cache().compactor().reclaim(driver_.arena().free_bytes() + more), "make room");
    return "make room of " + std::to_string(more);
  }
  static constexpr std::array kAll = {TriggerEvent::span_read, TriggerEvent::turn_ended,
                                      TriggerEvent::steps,     TriggerEvent::over_limit,
                                      TriggerEvent::idle,      TriggerEvent::asked};
  const std::size_t event = below(kAll.size());
  done(driver_.cache().compactor().compact(kAll[event]), "compact");
  return "compact " + std::to_string(event);
}

std::string CacheWalk::read(SegmentKind kind, std::size_t n_tokens) {
  const std::string what = "read " + std::to_string(n_tokens);
  const std::size_t chunk = std::array<std::size_t, 4>{7, 32, 100, 512}[below(4)];
  const int stop = below(6) == 0 ? static_cast<int>(below(4)) : -1;
  const std::size_t used = driver_.arena().used_bytes();
  const std::vector<std::byte> before = driver_.bytes();
  const bool fits = driver_.cache().begin_prefill({.n_tokens = n_tokens, .kind = kind}).ok();
  const auto read =
      driver_.read(n_tokens, {.kind = kind, .chunk = chunk, .stop_after_layer = stop});
  EXPECT_EQ(read.ok(), fits) << what << ": what has begun cannot run out of memory";
  if (stop >= 0 || !read.ok()) {
    EXPECT_EQ(driver_.arena().used_bytes(), used) << what << " was dropped or failed";
    EXPECT_TRUE(driver_.bytes() == before) << what << " was dropped or failed";
  }
  done(read, what, before);
  return what + (stop >= 0 ? " dropped" : "");
}

std::string CacheWalk::steps(std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t n_tokens = driver_.cache().n_tokens();
    const bool may_fail = driver_.arena().free_bytes() < (std::size_t{1} << 20);
    const std::vector<std::byte> before = may_fail ? driver_.bytes() : std::vector<std::byte>();
    const Result<void> step = driver_.step();
    done(step, "step", driver_.cache().n_tokens() == n_tokens ? before : std::vector<std::byte>());
    if (!step.ok()) break;
  }
  return "steps " + std::to_string(n);
}

std::string CacheWalk::probe() {
  for (int i = 0; i < 4; ++i) {
    const std::optional<ProbeJob> job = driver_.cache().next_probe(40 + below(200));
    if (!job) break;
    const int stop = below(4) == 0 ? static_cast<int>(below(3)) : -1;
    const std::vector<std::byte> before = driver_.bytes();
    const Result<void> probed = driver_.probe(*job, stop);
    EXPECT_TRUE(driver_.bytes() == before) << "a second pass changes nothing but scores";
    done(probed, "probe", before);
  }
  if (below(2) == 0) done(driver_.cache().compactor().compact(TriggerEvent::idle), "idle");
  return "probe";
}

// A pass that is dropped at some layer and begun again leaves the scores of one that was not.
std::string CacheWalk::probe_interrupted() {
  const std::size_t chunk = 40 + below(200);
  if (!driver_.cache().next_probe(chunk)) return "nothing to probe";
  {
    Result<CacheDriver> whole = driver_.fork();
    done(whole, "fork");
    if (!whole.ok()) return "fork failed";
    whole->reads_on_as(driver_);
    while (const std::optional<ProbeJob> job = driver_.cache().next_probe(chunk)) {
      for (std::size_t i = below(3); i > 0; --i, ++n_interrupted_) {
        EXPECT_TRUE(driver_.probe(*job, static_cast<int>(below(4))).ok());
        const std::optional<ProbeJob> again = driver_.cache().next_probe(chunk);
        EXPECT_TRUE(again && again->first == job->first && again->n_tokens == job->n_tokens);
      }
      EXPECT_TRUE(driver_.probe(*job).ok());
    }
    EXPECT_TRUE(whole->probe_all(chunk).ok());
    for (CacheDriver* each : {&driver_, &*whole})
      EXPECT_TRUE(each->cache().compactor().compact(TriggerEvent::idle).ok());
    EXPECT_TRUE(driver_.bytes() == whole->bytes()) << "a second pass was interrupted";
  }
  return "probe interrupted";
}

// Goes on with one of the two; the other must stay as it was.
std::string CacheWalk::fork() {
  if (twin_) {
    EXPECT_TRUE(twin_->bytes() == twin_bytes_);
    twin_.reset();
  }
  Result<CacheDriver> twin = driver_.fork();
  done(twin, "fork");
  if (!twin.ok()) return "fork failed";
  EXPECT_TRUE(twin->bytes() == driver_.bytes());
  twin_.emplace(std::move(*twin));
  if (below(2) == 0) std::swap(*twin_, driver_);
  twin_bytes_ = twin_->bytes();
  return "fork";
}

std::string CacheWalk::edit(std::size_t n) {
  const std::size_t first = kSinkTokens + below(n - kSinkTokens), count = 1 + below(n - first);
  switch (below(10)) {
    case 0:
    case 1:
      edit_ = {.first = n - below(n / 3 + 1), .end = n};
      done(driver_.truncate(edit_.first), "truncate");
      return "truncate to " + std::to_string(edit_.first);
    case 2:
      edit_ = {.first = first, .end = first + count};
      done(driver_.cache().edit().forget(first, count), "forget");
      return "forget " + std::to_string(first) + "+" + std::to_string(count);
    case 3:
      done(driver_.cache().edit().pin(first, std::min<std::size_t>(count, 50)), "pin");
      return "pin " + std::to_string(first);
    case 4:
      return move(first, n);
    case 5:
      return gather(first, std::min<std::size_t>(count, 300));
    case 6:
      return gather_text();
    default:
      return reach(n);
  }
}

std::string CacheWalk::move(std::size_t first, std::size_t n) {
  const auto gap =
      static_cast<std::int32_t>(below(std::min<std::size_t>(first - kSinkTokens + 1, 30)));
  const std::int32_t by = below(2) == 0 ? -gap : gap;
  if (by != 0 && !driver_.cache().reach().is_all()) {
    EXPECT_EQ(driver_.move_text(first, by).error().code, "CACHE_RANGE");
    return "move refused";
  }
  edit_ = {.first = first - static_cast<std::size_t>(gap), .end = n + 100};
  done(driver_.move_text(first, by), "move");
  return "move " + std::to_string(first) + " by " + std::to_string(by);
}

// Where an open step, or a flush that is due, does not count as a change.
std::vector<std::byte> CacheWalk::idle_bytes() {
  done(driver_.cache().edit().pin(0, 0), "idle");
  return driver_.bytes();
}

// Up to three parts, moved anywhere before the near text, or all text again.
std::string CacheWalk::reach(std::size_t n) {
  Reach wanted;
  if (below(4) > 0) {
    wanted.near_first = kSinkTokens + below(n - kSinkTokens + 1);
    for (std::size_t end = 0, i = below(3) + 1; i > 0 && end < wanted.near_first; --i) {
      const std::size_t first = end == 0 ? 0 : end + below(wanted.near_first - end);
      const std::size_t least = end == 0 ? kSinkTokens : 1;
      const std::size_t length = least + below(wanted.near_first - first - least + 1);
      const std::size_t seen = below(wanted.near_first - length + 1);
      wanted.parts.push_back(
          {.first = first,
           .n_tokens = length,
           .moved = static_cast<std::int32_t>(seen) - static_cast<std::int32_t>(first)});
      end = first + length;
    }
  }
  const std::vector<std::byte> before = idle_bytes();
  const Result<void> set = driver_.cache().edit().set_reach(wanted);
  done(set, "reach", before);
  EXPECT_TRUE(!set.ok() || driver_.cache().reach() == wanted);
  return "reach of " + std::to_string(wanted.parts.size()) + " parts before " +
         std::to_string(wanted.near_first);
}

Result<CacheDriver> CacheWalk::read_again(std::size_t first, std::size_t count) {
  SATCHEL_TRY_ASSIGN(CacheDriver twin, driver_.fork());
  SATCHEL_TRY(twin.truncate(first));
  SATCHEL_TRY(twin.read(count));
  SATCHEL_TRY(twin.probe_all(200));
  SATCHEL_TRY(twin.cache().compactor().compact(TriggerEvent::idle));
  return twin;
}

// One of the texts, or part of it: it is often one that may be gathered.
std::string CacheWalk::gather_text() {
  const std::size_t i = below(driver_.cache().segments().size());
  const TextSegment text = driver_.cache().segments()[i];
  const std::size_t first = std::max(text.first, kSinkTokens);
  if (first >= text.end()) return "nothing to gather";
  const std::size_t n = std::min<std::size_t>(text.end() - first, 300);
  return gather(first, below(2) == 0 ? n : 1 + below(n));
}

std::string CacheWalk::gather(std::size_t first, std::size_t count) {
  const std::string what = "gather " + std::to_string(first) + "+" + std::to_string(count);
  const bool is_done =
      std::ranges::all_of(driver_.cache().segments(), [&](const TextSegment& text) {
        const bool touches = text.first < first + count && text.end() > first;
        return !touches || (text.kind != SegmentKind::pinned && text.state == SegmentState::done);
      });
  const bool from_fork = below(3) > 0;
  std::vector<std::byte> before = idle_bytes();
  Result<void> gathered;
  if (from_fork) {
    Result<CacheDriver> twin = read_again(first, count);
    gathered = twin.ok() ? driver_.gather(first, count, *twin) : Result<void>(twin.error());
  } else {
    gathered = driver_.cache().edit().gather(first, count);
  }
  if (!is_done && !gathered.ok() && gathered.error().code == "CACHE_RANGE") {
    EXPECT_TRUE(driver_.bytes() == before) << what << " was refused";
    return what + " refused";
  }
  EXPECT_TRUE(is_done || !gathered.ok()) << what;
  if (from_fork) edit_ = {.first = first, .end = first + count};
  done(gathered, what, before);
  return what + (from_fork ? " from a fork" : "");
}

}  // namespace satchel::kvcache
