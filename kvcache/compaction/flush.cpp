#include "kvcache/compaction/flush.h"

#include <algorithm>
#include <array>

#include "kvcache/compaction/compaction.h"

namespace satchel::kvcache {
namespace {

// What a flush of one lane takes out of its tail: tokens [first, first + n) of it, at one tier.
struct TailRun {
  std::size_t first = 0, n = 0;
  std::uint8_t tier = kTierRecipe;
};
using TailRuns = std::array<TailRun, kFlushRunsMax>;

// Cut where the tier changes and at whole pages; at most kFlushRunsMax, the last takes the rest
// of what a page holds.
std::size_t runs_of(const CacheState& cache, const Lane& lane, std::uint8_t finest,
                    std::size_t n_more, TailRuns& runs) {
  const std::size_t n_tail = lane.n_tail() + n_more;
  const std::size_t n_out = n_tail - std::min(n_tail, lane.tail_kept());
  const std::size_t position = cache.text.n_tokens + n_more - n_tail;
  std::size_t n = 0;
  for (std::size_t at = 0; at < n_out; ++at) {
    const std::uint8_t tier = cache.tier_at(position + at, finest);
    const bool opens = n == 0 || runs[n - 1].n == kernels::kPageTokens ||
                       (runs[n - 1].tier != tier && n < kFlushRunsMax);
    if (opens) {
      SATCHEL_ASSERT(n < kFlushRunsMax);
      runs[n++] = {.first = at, .n = 0, .tier = tier};
    }
    ++runs[n - 1].n;
    runs[n - 1].tier = std::min(runs[n - 1].tier, tier);  // the finer of two
  }
  return n;
}

// All pages are taken, then all are encoded in one call, then the lanes change: a backend that
// fails in between leaves them as they were.
class TailFlush {
 public:
  explicit TailFlush(CacheState& cache) : cache_(cache), scratch_(cache.step) {
    scratch_.flushed.clear();
    scratch_.flushed_lanes.clear();
  }

  Result<void> run() {
    std::uint8_t finest = kTierExact;
    while (finest < kTierRecipe && flush_bytes(cache_, finest, 0) > cache_.arena.free_bytes())
      ++finest;
    SATCHEL_TRY(cache_.arena.check_free(flush_bytes(cache_, finest, 0)));
    const auto encoded = [&]() -> Result<void> {
      SATCHEL_TRY(take_pages(finest));
      return encode();
    }();
    if (!encoded.ok()) {
      give_back(0);
      return encoded.error();
    }
    return move();
  }

 private:
  Result<void> take_pages(std::uint8_t finest) {
    TailRuns runs;
    for (std::size_t i = 0; i < cache_.lanes.size(); ++i) {
      const std::size_t first = cache_.text.n_tokens - cache_.lanes[i].n_tail();
      const std::size_t n = runs_of(cache_, cache_.lanes[i], finest, 0, runs);
      for (std::size_t j = 0; j < n; ++j) {
        SATCHEL_TRY_ASSIGN(PageRecord page, cache_.take_page(runs[j].tier, i, runs[j].n));
        page.first_position = static_cast<std::int32_t>(first + runs[j].first);
        page.last_position = page.first_position + static_cast<std::int32_t>(runs[j].n) - 1;
        scratch_.flushed.push_back(page);
        scratch_.flushed_lanes.push_back(i);
      }
    }
    return {};
  }

  Result<void> encode() {
    scratch_.encodes.clear();
    for (std::size_t i = 0; i < scratch_.flushed.size(); ++i) {
      const PageRecord& page = scratch_.flushed[i];
      const Lane& lane = cache_.lanes[scratch_.flushed_lanes[i]];
      const ExactBlock tail = lane.tail();
      const std::size_t first =
          static_cast<std::size_t>(page.first_position) - (cache_.text.n_tokens - lane.n_tail());
      scratch_.encodes.push_back({.layout = page.layout,
                                  .exact = {.k = tail.k + first * lane.head_dim(),
                                            .v = tail.v + first * lane.head_dim(),
                                            .positions = tail.positions + first,
                                            .n_tokens = page.n_tokens},
                                  .page = cache_.arena.at(page.extent)});
    }
    SATCHEL_TRY(cache_.backend.encode_pages(scratch_.encodes));
    for (std::size_t i = 0; i < scratch_.flushed.size(); ++i)
      SATCHEL_TRY(cache_.finish_page(scratch_.flushed[i],
                                     cache_.lanes[scratch_.flushed_lanes[i]].head_dim()));
    return {};
  }

  Result<void> move() {
    std::size_t next = 0;
    for (std::size_t i = 0; i < cache_.lanes.size(); ++i) {
      Lane& lane = cache_.lanes[i];
      const std::size_t n_kept = std::min(lane.n_tail(), lane.tail_kept());
      const std::size_t n_out = lane.n_tail() - n_kept;
      if (n_out == 0) continue;
      // The kept tokens may overlap where they go: copy() allows that.
      const Result<void> copied =
          copy_exact(cache_.backend, lane.head_dim(), {lane.tail(), n_out, lane.tail(), 0, n_kept});
      if (!copied.ok()) {
        give_back(next);
        return cache_.lose_all(copied.error());
      }
      lane.set_lengths(lane.n_sinks(), n_kept);
      for (; next < scratch_.flushed.size() && scratch_.flushed_lanes[next] == i; ++next)
        lane.add_page(scratch_.flushed[next]);
      SATCHEL_TRY(cache_.show(i));
    }
    scratch_.flushed.clear();
    cache_.since_flush = 0;
    return cache_.drop_behind_windows();
  }

  // Pages that no lane has, from the first of these on.
  void give_back(std::size_t first) {
    for (std::size_t i = first; i < scratch_.flushed.size(); ++i)
      cache_.arena.give(scratch_.flushed[i].extent);
    scratch_.flushed.clear();
  }

  CacheState& cache_;
  StepScratch& scratch_;
};

}  // namespace

std::size_t flush_bytes(const CacheState& cache, std::uint8_t finest, std::size_t n_more) {
  TailRuns runs;
  std::size_t bytes = 0;
  for (const Lane& lane : cache.lanes) {
    const std::size_t n = runs_of(cache, lane, finest, n_more, runs);
    for (std::size_t i = 0; i < n; ++i)
      bytes += cache.layout.page_bytes(runs[i].tier, lane.token(), runs[i].n);
    if (cache.arena.has_far())  // notes are apart from their pages
      bytes += n * Arena::rounded_up(cache.layout.note_bytes(lane.head_dim()));
  }
  return bytes;
}

Result<void> flush_if_due(CacheState& cache) {
  if (cache.since_flush < kFlushTokens) return {};
  if (cache.flushes_reserved == 0) cache.reserve_lists();
  --cache.flushes_reserved;
  SATCHEL_TRY(TailFlush(cache).run());
  if (!cache.layout.pipeline.fires(TriggerEvent::steps, cache.text.n_tokens)) return {};
  const Result<CompactionReport> report = Compaction(cache).decide_all_text();
  return report.ok() ? Result<void>() : Result<void>(report.error());
}

Result<void> make_idle(CacheState& cache) {
  SATCHEL_ASSERT(cache.prefill == nullptr);
  cache.undo_open_step();
  SATCHEL_TRY(flush_if_due(cache));
  return cache.show_all_if_stale();
}

}  // namespace satchel::kvcache
