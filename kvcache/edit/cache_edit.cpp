#include "kvcache/edit/cache_edit.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <string>
#include <utility>

#include "kernels/base/assert.h"
#include "kvcache/compaction/flush.h"
#include "kvcache/compaction/rewrite.h"
#include "kvcache/state/cache_state.h"

namespace satchel::kvcache {
namespace {

// Which slots of a page are at or behind `first`, shift included.
Result<kernels::LiveMask> slots_from(CacheState& cache, const PageRecord& page, std::size_t first) {
  std::array<std::int32_t, kernels::kPageTokens> positions;
  SATCHEL_TRY(cache.read_positions(page, positions));
  kernels::LiveMask mask;
  for (std::size_t slot = 0; slot < page.n_tokens; ++slot)
    if (static_cast<std::size_t>(positions[slot]) >= first) mask.set(slot);
  return mask;
}

// What an edit makes of the lanes' pages [n_lanes][pages], found before anything changes: reading
// positions can fail, the change itself cannot.
using PageChanges = std::vector<std::vector<PageRecord>>;

PageChanges pages_now(const CacheState& cache) {
  PageChanges changes;
  for (const Lane& lane : cache.lanes)
    changes.emplace_back(lane.pages().begin(), lane.pages().end());
  return changes;
}

// Live slots of every page that touches [first, end) lose those in it.
Result<void> hide(CacheState& cache, std::vector<PageRecord>& pages, std::size_t first,
                  std::size_t end) {
  for (PageRecord& page : pages) {
    if (!page.overlaps(first, end)) continue;
    SATCHEL_TRY_ASSIGN(const kernels::LiveMask behind, slots_from(cache, page, first));
    SATCHEL_TRY_ASSIGN(const kernels::LiveMask beyond, slots_from(cache, page, end));
    for (std::size_t slot = 0; slot < page.n_tokens; ++slot)
      if (behind.has(slot) && !beyond.has(slot)) page.live.clear(slot);
    if (page.live.count() > 0) SATCHEL_TRY(cache.set_range(page));
  }
  return {};
}

// A page that has tokens on both sides of `first` is seen twice, each time in part.
Result<void> split(CacheState& cache, std::vector<PageRecord>& pages, std::size_t first) {
  for (std::size_t i = 0, n = pages.size(); i < n; ++i) {
    PageRecord page = pages[i];
    if (page.live.count() == 0 || static_cast<std::size_t>(page.first_position) >= first ||
        static_cast<std::size_t>(page.last_position) < first)
      continue;
    SATCHEL_TRY_ASSIGN(const kernels::LiveMask behind, slots_from(cache, page, first));
    PageRecord second = page;
    second.serial = cache.next_serial++;
    for (std::size_t slot = 0; slot < page.n_tokens; ++slot)
      (behind.has(slot) ? page : second).live.clear(slot);
    SATCHEL_TRY(cache.set_range(page));
    SATCHEL_TRY(cache.set_range(second));
    pages[i] = page;
    pages.push_back(second);
  }
  return {};
}

// So that a page is in one part, or in none.
Result<void> split_at_borders(CacheState& cache, std::vector<PageRecord>& pages,
                              const Reach& reach) {
  SATCHEL_TRY(split(cache, pages, reach.near_first));
  for (const Reach::Part& part : reach.parts) {
    SATCHEL_TRY(split(cache, pages, part.first));
    SATCHEL_TRY(split(cache, pages, part.end()));
  }
  return {};
}

// Pages behind those the lane has are further views of extents it holds.
void replace_pages(CacheState& cache, const PageChanges& changes) {
  for (std::size_t i = 0; i < cache.lanes.size(); ++i) {
    Lane& lane = cache.lanes[i];
    const std::vector<PageRecord>& pages = changes[i];
    const std::size_t n_before = lane.pages().size();
    lane.reserve_pages(pages.size());
    for (std::size_t j = 0; j < pages.size(); ++j) {
      if (j < n_before) {
        lane.replace_page(j, pages[j]);
        continue;
      }
      cache.arena.share(pages[j].extent);
      lane.add_page(pages[j]);
    }
    lane.drop_empty_pages();
  }
  cache.table_is_stale = true;
}

Result<void> check_range(const CacheState& cache, std::size_t first, std::size_t n) {
  if (first <= cache.text.n_tokens && n <= cache.text.n_tokens - first) return {};
  return Error{ErrorKind::invalid, "CACHE_RANGE",
               "Tokens " + std::to_string(first) + " to " + std::to_string(first + n) +
                   " are not all there: the cache has " + std::to_string(cache.text.n_tokens) +
                   "."};
}

Result<void> check_held(const CacheState& cache, std::size_t first, std::size_t n) {
  SATCHEL_TRY(check_range(cache, first, n));
  for (const TextSegment& segment : cache.text.segments)
    if (segment.state == SegmentState::resting && segment.first < first + n &&
        segment.end() > first)
      return Error{ErrorKind::invalid, "CACHE_RANGE",
                   "Tokens " + std::to_string(first) + " to " + std::to_string(first + n) +
                       " are not all held: some of them rest and must come back first."};
  return {};
}

// Of the pages that flush_tails() makes.
std::size_t flushed_bytes(const CacheState& cache, std::size_t end,
                          const LaneRewriter::TierOf& tier_of) {
  std::size_t bytes = 0;
  for (const Lane& lane : cache.lanes) {
    std::array<std::size_t, kTiersMax> n{};
    for (std::size_t at = cache.text.n_tokens - lane.n_tail();
         at < std::min(end, cache.text.n_tokens); ++at)
      ++n[tier_of(at, kTierExact)];
    for (std::uint8_t tier = 0; tier < cache.layout.tiers.n_tiers(); ++tier)
      bytes += cache.layout.body_bytes(tier, lane.token(), n[tier]);
  }
  return bytes;
}

// What tails hold before `end` goes to pages, and leaves `spare` bytes. On CACHE_FULL nothing has
// changed.
Result<void> flush_tails(CacheState& cache, std::size_t end, const LaneRewriter::TierOf& tier_of,
                         std::size_t spare = 0) {
  SATCHEL_TRY(cache.arena.check_free(flushed_bytes(cache, end, tier_of) + spare));
  for (std::size_t i = 0; i < cache.lanes.size(); ++i) {
    const std::size_t first = cache.text.n_tokens - cache.lanes[i].n_tail();
    if (end <= first) continue;
    LaneRewriter rewriter(cache, i, tier_of);
    const Result<void> flushed_tail =
        rewriter.flush_tail(std::min(end, cache.text.n_tokens) - first);
    if (flushed_tail.ok()) continue;
    (void)cache.show_all_if_stale();
    return flushed_tail.error();
  }
  cache.reserve_lists();
  return cache.show_all_if_stale();
}

// Tails hold consecutive tokens, so what is forgotten or moved in them goes to pages first: exact
// ones, as tails are, where that fits.
Result<void> flush_tails_before(CacheState& cache, std::size_t end, std::size_t spare = 0) {
  const LaneRewriter::TierOf exact = [&](std::size_t, std::uint8_t) {
    return cache.layout.held_tier(kTierExact);
  };
  const LaneRewriter::TierOf coarse = [&](std::size_t at, std::uint8_t) {
    return cache.tier_at(at, kTierEight);
  };
  const bool fits = cache.arena.check_free(flushed_bytes(cache, end, exact) + spare).ok();
  return flush_tails(cache, end, fits ? exact : coarse, spare);
}

Result<void> check_positions(std::size_t n_tokens, std::int64_t more) {
  if (static_cast<std::int64_t>(n_tokens) + more <= std::numeric_limits<std::int32_t>::max())
    return {};
  return Error{ErrorKind::invalid, "CACHE_POSITION", "No positions are left behind the text."};
}

// Spans go on covering all the text: what stood before the gap grows or shrinks.
void move_segments(TextSegments& text, std::size_t first, std::int32_t by) {
  text.cut(first);
  const auto moved = [by](std::size_t position) {
    return static_cast<std::size_t>(static_cast<std::int64_t>(position) + by);
  };
  const std::size_t begin = moved(first);
  std::vector<TextSegment> now;
  for (TextSegment segment : text.segments) {
    if (segment.first >= first) {
      segment.first = moved(segment.first);
      now.push_back(segment);
      continue;
    }
    const std::size_t end = segment.end() == first ? begin : std::min(segment.end(), begin);
    if (end <= segment.first) continue;
    segment.n_tokens = end - segment.first;
    now.push_back(segment);
  }
  text.segments = std::move(now);
}

// States of recurrent layers carry all that they have read: no part of it can be taken out.
Result<void> check_carries_nothing(const CacheState& cache) {
  if (!cache.states.any() || cache.states.are_absent()) return {};
  return Error{ErrorKind::invalid, "CACHE_RANGE",
               "This model has recurrent layers, which carry all text that was read: text can only "
               "be cut off at the end."};
}

bool is_episode(const TextSegment& segment, std::size_t first, std::size_t n) {
  return segment.kind == SegmentKind::episode && segment.first == first && segment.n_tokens == n;
}

Result<void> check_reach(const TextSegments& text, const Reach& wanted) {
  if (!wanted.holds(text.n_tokens, kSinkTokens))
    return Error{
        ErrorKind::invalid, "CACHE_REACH",
        "The parts do not fit a text of " + std::to_string(text.n_tokens) + " tokens, or overlap."};
  for (const TextSegment& segment : text.segments)
    if (segment.state == SegmentState::resting && wanted.sees(segment.first, segment.end()))
      return Error{ErrorKind::invalid, "CACHE_REACH",
                   "Tokens " + std::to_string(segment.first) + " to " +
                       std::to_string(segment.end()) + " rest and must come back first."};
  return {};
}

// No page and no tail lies across a border of the reach.
Result<void> cut_for(CacheState& cache, const Reach& wanted) {
  SATCHEL_TRY(flush_tails_before(cache, wanted.near_first, cache.moved_sinks_needs(wanted)));
  PageChanges changes = pages_now(cache);
  for (std::vector<PageRecord>& pages : changes)
    SATCHEL_TRY(split_at_borders(cache, pages, wanted));
  replace_pages(cache, changes);
  return {};
}

// comes_back: an episode that rests may be what is gathered.
Result<void> check_gathers(const CacheState& cache, std::size_t first, std::size_t n,
                           bool comes_back) {
  SATCHEL_TRY(check_range(cache, first, n));
  const auto stays_apart = [&](const TextSegment& segment) {
    const bool touches = segment.first < first + n && segment.end() > first;
    if (touches && segment.state == SegmentState::resting)
      return !comes_back || !is_episode(segment, first, n);
    return touches && (segment.kind == SegmentKind::pinned || segment.state != SegmentState::done);
  };
  if (n > 0 && first >= kSinkTokens && std::ranges::none_of(cache.text.segments, stays_apart))
    return {};
  return Error{ErrorKind::invalid, "CACHE_RANGE",
               "Tokens " + std::to_string(first) + " to " + std::to_string(first + n) +
                   " can't be gathered: some of them are pinned, rest elsewhere or have not been "
                   "compressed yet."};
}

// Lane-tokens in pages; what a window passes over is not counted as gone either.
std::size_t n_live(const CacheState& cache, const PageChanges& changes) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < changes.size(); ++i)
    if (cache.layout.layer(i).window == 0)
      for (const PageRecord& page : changes[i]) n += page.live.count();
  return n;
}

// first, n: of `other`'s text.
Result<void> check_places(const CacheState& cache, const CacheState& other, std::size_t first,
                          std::size_t n) {
  SATCHEL_TRY(check_held(other, first, n));
  const bool waits = std::ranges::any_of(other.text.segments, [&](const TextSegment& segment) {
    return segment.first < first + n && segment.end() > first && segment.waits();
  });
  if (first < kSinkTokens || cache.text.n_tokens < kSinkTokens || waits || !cache.reach.is_all() ||
      !other.reach.is_all() || cache.layout.shape.reads_in_order())
    return Error{ErrorKind::invalid, "CACHE_RANGE",
                 "Tokens " + std::to_string(first) + " to " + std::to_string(first + n) +
                     " can't be placed in another text: they are its first ones or wait to be "
                     "compressed, older text rests, or the model reads in order only."};
  return check_positions(cache.text.n_tokens, static_cast<std::int64_t>(n));
}

// Those of [first, first + n), where they stand `by` later.
std::vector<TextSegment> moved_segments(TextSegments text, std::size_t first, std::size_t n,
                                        std::int64_t by) {
  text.cut(first);
  text.cut(first + n);
  std::vector<TextSegment> moved;
  for (TextSegment segment : text.segments) {
    if (segment.first < first || segment.end() > first + n) continue;
    segment.first = static_cast<std::size_t>(static_cast<std::int64_t>(segment.first) + by);
    segment.is_placed = true;
    moved.push_back(segment);
  }
  return moved;
}

// As `text` has it there.
TextSegment episode_of(const TextSegments& text, std::size_t first, std::size_t n) {
  const bool is_placed = std::ranges::any_of(text.segments, [&](const TextSegment& segment) {
    return segment.is_placed && segment.first < first + n && segment.end() > first;
  });
  return {.first = first,
          .n_tokens = n,
          .kind = SegmentKind::episode,
          .state = SegmentState::done,
          .is_placed = is_placed};
}

// That of a page of the lane which was split, and whose other part this is. A text that stands
// there twice is saved twice: a saved page has a slot once.
std::uint64_t bytes_serial_of(const PageRecord& page, const Lane& lane) {
  std::uint64_t serial = page.serial;
  for (const PageRecord& held : lane.pages()) {
    if (held.extent != page.extent) continue;
    for (std::size_t i = 0; i < page.live.words.size(); ++i)
      if ((held.live.words[i] & page.live.words[i]) != 0) return page.serial;
    if (serial == page.serial) serial = held.bytes_serial;
  }
  return serial;
}

// Pages of another cache over the same arena, under this one's own layouts: that cache may go.
// Their serials are this one's: since the fork both may have given the same to different pages.
void join_pages(CacheState& cache, std::size_t index, std::span<const PageRecord> pages) {
  Lane& lane = cache.lanes[index];
  lane.reserve_pages(lane.pages().size() + pages.size());
  for (PageRecord page : pages) {
    if (page.live.count() == 0) continue;
    const kernels::PageLayout& layout =
        cache.layout.tiers.of_lane(page.tier, index, lane.token(), page.n_tokens);
    SATCHEL_ASSERT(layout == *page.layout);
    page.layout = &layout;
    page.serial = cache.next_serial++;
    page.bytes_serial = bytes_serial_of(page, lane);
    cache.arena.share(page.extent);
    lane.add_page(page);
  }
}

}  // namespace

Result<void> CacheEdit::truncate(std::size_t n_tokens) {
  CacheState& s = cache_;
  SATCHEL_TRY(check_range(s, n_tokens, 0));
  SATCHEL_TRY(make_idle(s));
  if (n_tokens == s.text.n_tokens) return {};
  SATCHEL_TRY(s.states.prepare_cut(n_tokens));
  PageChanges changes = pages_now(s);
  for (std::vector<PageRecord>& pages : changes)
    SATCHEL_TRY(hide(s, pages, n_tokens, s.text.n_tokens));
  SATCHEL_TRY(s.scores.zero_from(n_tokens));  // other tokens will stand there
  replace_pages(s, changes);
  for (Lane& lane : s.lanes)
    lane.set_lengths(std::min(lane.n_sinks(), n_tokens),
                     lane.n_tail() - std::min(lane.n_tail(), s.text.n_tokens - n_tokens));
  s.text.cut(n_tokens);
  while (!s.text.segments.empty() && s.text.segments.back().first >= n_tokens)
    s.text.segments.pop_back();
  s.since_flush -= std::min(s.since_flush, s.text.n_tokens - n_tokens);
  s.text.n_tokens = n_tokens;
  s.states.cut(n_tokens);
  s.forget_scores();
  Reach left = s.reach;
  left.truncate(n_tokens);
  if (left != s.reach) return s.set_reach(left);
  s.reserve_lists();
  return s.show_all_if_stale();
}

Result<void> CacheEdit::forget(std::size_t first, std::size_t n) {
  CacheState& s = cache_;
  SATCHEL_TRY(check_held(s, first, n));
  SATCHEL_TRY(check_carries_nothing(s));
  SATCHEL_TRY(make_idle(s));
  SATCHEL_TRY(flush_tails_before(s, first + n));
  PageChanges changes = pages_now(s);
  for (std::vector<PageRecord>& pages : changes)
    SATCHEL_TRY(hide(s, pages, std::max(first, kSinkTokens), first + n));
  replace_pages(s, changes);
  s.reserve_lists();
  return s.show_all_if_stale();
}

template <class Changes>
Result<void> CacheEdit::set_kind(std::size_t first, std::size_t n, SegmentKind kind,
                                 Changes changes) {
  CacheState& s = cache_;
  SATCHEL_TRY(check_held(s, first, n));
  SATCHEL_TRY(make_idle(s));
  s.text.cut(first);
  s.text.cut(first + n);
  for (TextSegment& segment : s.text.segments)
    if (segment.first >= first && segment.end() <= first + n && changes(segment)) {
      segment.kind = kind;
      segment.state = SegmentState::done;
    }
  return {};
}

Result<void> CacheEdit::pin(std::size_t first, std::size_t n) {
  return set_kind(first, n, SegmentKind::pinned, [](const TextSegment&) { return true; });
}

Result<void> CacheEdit::unpin(std::size_t first, std::size_t n, SegmentKind kind) {
  SATCHEL_ASSERT(kind != SegmentKind::pinned);
  return set_kind(first, n, kind,
                  [](const TextSegment& segment) { return segment.kind == SegmentKind::pinned; });
}

Result<void> CacheEdit::move_text(std::size_t first, std::int32_t by) {
  CacheState& s = cache_;
  SATCHEL_TRY(check_range(s, first, 0));
  SATCHEL_TRY(make_idle(s));
  if (by == 0) return {};
  SATCHEL_TRY(check_carries_nothing(s));
  if (first < kSinkTokens || !s.reach.is_all())
    return Error{ErrorKind::invalid, "CACHE_RANGE",
                 "The first tokens of a text can't move, nor text that is partly out of reach."};
  SATCHEL_TRY(check_positions(s.text.n_tokens, by));
  const std::int64_t end = static_cast<std::int64_t>(s.text.n_tokens) + by;
  const std::size_t gap = by < 0 ? static_cast<std::size_t>(-std::int64_t{by}) : 0;
  if (gap > first - kSinkTokens)
    return Error{ErrorKind::invalid, "CACHE_RANGE", "The text would move over the first tokens."};
  SATCHEL_TRY(flush_tails_before(s, s.text.n_tokens));
  PageChanges changes = pages_now(s);
  for (std::vector<PageRecord>& pages : changes) {
    SATCHEL_TRY(hide(s, pages, first - gap, first));  // what it moves over
    SATCHEL_TRY(split(s, pages, first));
    for (PageRecord& page : pages) {
      if (static_cast<std::size_t>(page.first_position) < first) continue;
      page.shift += by;
      page.first_position += by;
      page.last_position += by;
    }
  }
  replace_pages(s, changes);
  move_segments(s.text, first, by);
  s.scores.clear();  // known by position
  for (TextSegment& segment : s.text.segments) segment.n_probed = 0;
  s.text.n_tokens = static_cast<std::size_t>(end);
  s.since_flush = 0;
  s.reserve_lists();
  return s.show_all_if_stale();
}

Result<void> CacheEdit::place(std::size_t first, std::size_t n, CacheState& other) {
  CacheState& s = cache_;
  SATCHEL_ASSERT(&s.arena == &other.arena && s.lanes.size() == other.lanes.size());
  SATCHEL_TRY(check_places(s, other, first, n));
  SATCHEL_TRY(make_idle(s));
  SATCHEL_TRY(make_idle(other));
  if (n == 0) return {};
  // Neither is the newest text any more.
  for (CacheState* cache : {&other, &s})
    SATCHEL_TRY(flush_tails(*cache, cache == &s ? s.text.n_tokens : first + n,
                            [cache](std::size_t at, std::uint8_t) { return cache->tier_at(at); }));
  const auto by = static_cast<std::int32_t>(static_cast<std::int64_t>(s.text.n_tokens) -
                                            static_cast<std::int64_t>(first));
  PageChanges theirs = pages_now(other);
  for (std::vector<PageRecord>& pages : theirs) {
    SATCHEL_TRY(hide(other, pages, 0, first));
    SATCHEL_TRY(hide(other, pages, first + n, other.text.n_tokens));
    for (PageRecord& page : pages) {
      page.shift += by;
      page.first_position += by;
      page.last_position += by;
    }
  }
  for (std::size_t i = 0; i < theirs.size(); ++i) join_pages(s, i, theirs[i]);
  std::ranges::move(moved_segments(other.text, first, n, by), std::back_inserter(s.text.segments));
  s.text.n_tokens += n;
  s.since_flush = 0;
  s.forget_scores();
  s.table_is_stale = true;
  s.reserve_lists();
  return s.show_all_if_stale();
}

Result<void> CacheEdit::set_reach(const Reach& wanted) {
  CacheState& s = cache_;
  SATCHEL_TRY(check_reach(s.text, wanted));
  SATCHEL_TRY(make_idle(s));
  if (wanted == s.reach) return {};
  SATCHEL_TRY(cut_for(s, wanted));
  return s.set_reach(wanted);
}

Result<void> CacheEdit::gather(std::size_t first, std::size_t n) {
  CacheState& s = cache_;
  SATCHEL_TRY(check_gathers(s, first, n, false));
  SATCHEL_TRY(make_idle(s));
  s.text.replace(episode_of(s.text, first, n));
  s.forget_scores();
  s.reserve_lists();
  return s.show_all_if_stale();
}

Result<void> CacheEdit::gather(std::size_t first, std::size_t n, CacheState& other) {
  CacheState& s = cache_;
  SATCHEL_ASSERT(&s.arena == &other.arena && s.lanes.size() == other.lanes.size());
  SATCHEL_TRY(check_gathers(s, first, n, true));
  SATCHEL_TRY(check_gathers(other, first, n, false));
  SATCHEL_TRY(make_idle(s));
  SATCHEL_TRY(make_idle(other));
  // An episode has no tail: its end is held at the tier to which it would be flushed.
  SATCHEL_TRY(flush_tails(other, first + n,
                          [&](std::size_t at, std::uint8_t) { return other.tier_at(at); }));
  SATCHEL_TRY(flush_tails_before(s, first + n));
  PageChanges ours = pages_now(s), theirs = pages_now(other);
  for (std::size_t i = 0; i < ours.size(); ++i) {
    SATCHEL_TRY(hide(s, ours[i], first, first + n));
    SATCHEL_TRY(hide(other, theirs[i], 0, first));
    SATCHEL_TRY(hide(other, theirs[i], first + n, other.text.n_tokens));
    SATCHEL_TRY(split_at_borders(other, theirs[i], s.reach));
  }
  replace_pages(s, ours);
  for (std::size_t i = 0; i < theirs.size(); ++i) join_pages(s, i, theirs[i]);
  s.text.replace(episode_of(other.text, first, n));
  s.forget_scores();
  s.table_is_stale = true;
  SATCHEL_TRY(s.drop_behind_windows());
  s.reserve_lists();
  return s.show_all_if_stale();
}

Result<void> CacheEdit::rest(std::size_t first, std::size_t n) {
  CacheState& s = cache_;
  SATCHEL_TRY(check_range(s, first, n));
  SATCHEL_TRY(make_idle(s));
  const auto episode = std::ranges::find_if(
      s.text.segments, [&](const TextSegment& segment) { return is_episode(segment, first, n); });
  if (episode == s.text.segments.end() || episode->state != SegmentState::done ||
      s.reach.sees(first, first + n))
    return Error{ErrorKind::invalid, "CACHE_RANGE",
                 "Tokens " + std::to_string(first) + " to " + std::to_string(first + n) +
                     " are no episode out of reach."};
  SATCHEL_TRY(flush_tails_before(s, first + n));
  PageChanges changes = pages_now(s);
  const std::size_t n_before = n_live(s, changes);
  for (std::vector<PageRecord>& pages : changes) SATCHEL_TRY(hide(s, pages, first, first + n));
  if (n_live(s, changes) == n_before) return {};  // at rest it would count as unread
  episode->n_resting = n_before - n_live(s, changes);
  episode->state = SegmentState::resting;
  replace_pages(s, changes);
  s.reserve_lists();
  return s.show_all_if_stale();
}

Result<void> CacheEdit::skip(std::size_t n, const Reach& wanted) {
  CacheState& s = cache_;
  if (n == 0 || s.text.n_tokens < kSinkTokens || s.layout.shape.reads_in_order())
    return Error{ErrorKind::invalid, "CACHE_RANGE",
                 "No text can be left unread before there are sinks, nor where layers have a "
                 "window or a state."};
  TextSegments text = s.text;
  text.segments.push_back(episode_of(text, text.n_tokens, n));
  text.segments.back().state = SegmentState::resting;
  text.n_tokens += n;
  SATCHEL_TRY(check_reach(text, wanted));
  SATCHEL_TRY(make_idle(s));
  SATCHEL_TRY(cut_for(s, wanted));  // leaves no tail: all of the text is before the near one
  std::swap(s.text, text);
  const std::size_t since_flush = std::exchange(s.since_flush, 0);
  Result<void> done = s.set_reach(wanted);
  if (done.ok()) return done;
  std::swap(s.text, text);
  s.since_flush = since_flush;
  return done;
}

Result<void> CacheEdit::keep_only(std::size_t n_head, std::size_t first, std::size_t n) {
  SATCHEL_TRY(check_range(cache_, first, n));
  cache_.states.leave();
  SATCHEL_TRY(truncate(first + n));
  for (TextSegment& segment : cache_.text.segments)
    if (segment.state == SegmentState::resting && segment.end() <= first) {
      segment.state = SegmentState::done;  // it goes
      segment.n_resting = 0;
    }
  SATCHEL_TRY(set_reach({}));
  return move_text(first, -static_cast<std::int32_t>(first - n_head));
}

// A lane with a window holds all text from its lowest position on. Where that is behind the sinks,
// text has been dropped that a query at an earlier position would see.
std::size_t CacheEdit::truncation_point(std::size_t n_tokens) const {
  const CacheState& s = cache_;
  if (n_tokens >= s.text.n_tokens) return s.text.n_tokens;
  const std::size_t point = s.states.nearest(n_tokens);
  for (std::size_t i = 0; i < s.lanes.size(); ++i) {
    const std::size_t window = s.layout.layer(i).window;
    if (window == 0) continue;
    const Lane& lane = s.lanes[i];
    std::size_t lowest = s.text.n_tokens - lane.n_tail();
    for (const PageRecord& page : lane.pages())
      lowest = std::min(lowest, static_cast<std::size_t>(page.first_position));
    if (lowest > kSinkTokens && point + 1 < lowest + window) return 0;
  }
  return point;
}

}  // namespace satchel::kvcache
