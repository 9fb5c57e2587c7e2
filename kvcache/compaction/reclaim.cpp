// Where memory is short: the recipe's steps, one after the other, each from the oldest text on. All
// text is at one step before any goes to the next: the error of a coarser tier grows faster than
// what it saves, so that two texts at 3 bits lose less than one at 4 and one at 2 (docs/codecs.md).
#include <algorithm>
#include <cmath>

#include "kvcache/compaction/compaction.h"
#include "kvcache/compaction/compactor.h"
#include "kvcache/compaction/held_keys.h"
#include "kvcache/state/cache_stats.h"

namespace satchel::kvcache {
namespace {

// Chosen. A text that holds hardly more than it may is left alone: the few tokens that would go do
// not justify reading all of its keys.
constexpr double kHardlyMore = 1.02;

bool is_decided(const TextSegment& text) {
  return text.state == SegmentState::done && text.kind != SegmentKind::pinned;
}

bool is_inside(const PageRecord& page, const TextSegment& text) {
  return text.contains(static_cast<std::size_t>(page.last_position));
}

// Answers were never scored, and their queries are gone.
bool may_be_thinned(const CacheState& cache, const TextSegment& text) {
  return is_decided(text) && text.kind != SegmentKind::answer &&
         cache.layout.pipeline.fires(TriggerEvent::asked, text.n_tokens);
}

// Lane-tokens of the text in pages of layers that take part, about: pages may reach over its ends.
std::size_t n_held(const CacheState& cache, const TextSegment& text) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < cache.lanes.size(); ++i) {
    if (!cache.layout.takes_part(cache.layout.layer_of[i])) continue;
    for (const PageRecord& page : cache.lanes[i].pages())
      if (is_inside(page, text)) n += page.live.count();
  }
  return n;
}

// Lane-tokens that thinning leaves of the text.
double n_thinned(const CacheState& cache, const TextSegment& text, double keep) {
  const TokenSpan span = cache.token_span(text.first, text.n_tokens);
  const double n_kept = keep * static_cast<double>(text.n_tokens);
  return std::max(n_kept, static_cast<double>(cache.layout.pipeline.n_protected(span))) *
         static_cast<double>(span.n_lanes);
}

bool can_score_held(const CacheState& cache) {
  if (!cache.layout.pipeline.decides() || !cache.layout.pipeline.scorer().scores_held())
    return false;
  for (std::size_t i = 0; i < cache.lanes.size(); ++i) {
    if (!cache.layout.takes_part(cache.layout.layer_of[i])) continue;
    const std::vector<float> key(cache.layout.layer(i).head_dim);
    float score = 0;
    if (!cache.layout.pipeline.scorer().score_held(
            {.k = key, .head_dim = key.size(), .importance = cache.layout.importance_of(i)},
            {&score, 1}))
      return false;
  }
  return true;
}

// Nothing in it is pinned, open or pending.
bool may_change(const CacheState& cache, const PageRecord& page) {
  return std::all_of(cache.text.segments.begin(), cache.text.segments.end(),
                     [&](const TextSegment& text) {
                       return is_decided(text) || !page.overlaps(text.first, text.end());
                     });
}

}  // namespace

Result<void> Compaction::lower_text(std::uint8_t tier, const Enough& enough) {
  const LaneRewriter::TierOf tier_of = [tier](std::size_t, std::uint8_t now) {
    return std::max(now, tier);
  };
  for (const TextSegment& text : cache_.text.segments) {
    if (!is_decided(text)) continue;
    for (std::size_t i = 0; i < cache_.lanes.size() && !enough(); ++i) {
      const LaneRewriter::Takes takes = [&](const PageRecord& page) {
        return page.tier < tier && is_inside(page, text) && may_change(cache_, page) &&
               !stays_for_others(cache_.lanes[i], page) && !enough();
      };
      SATCHEL_TRY(rewrite(i, tier_of, 0, takes));
    }
  }
  return {};
}

// A page in two parts has a share for each.
bool Compaction::stays_for_others(const Lane& lane, const PageRecord& page) const {
  const std::size_t n_shares = spares_shared_ ? cache_.arena.n_shares(page.extent) : 1;
  return n_shares > 1 && n_shares > static_cast<std::size_t>(std::ranges::count(
                                        lane.pages(), page.extent, &PageRecord::extent));
}

//   needs   can_score_held()
Result<void> Compaction::thin(const TextSegment& text, double keep) {
  TokenSpan span = cache_.token_span(text.first, text.n_tokens);
  span.keep = keep;
  const Scorer& scorer = cache_.layout.pipeline.scorer();
  const ScoresOf held = [&](std::size_t lane, const TokenSpan& of,
                            std::span<float> scores) -> Result<void> {
    const std::span<const float> importance = cache_.layout.importance_of(lane);
    const std::size_t d = cache_.layout.layer(lane).head_dim;
    const TakesKey take = [&](std::size_t position, std::span<const float> key) {
      (void)scorer.score_held({.k = key, .head_dim = d, .importance = importance},
                              scores.subspan(position - of.first_position, 1));
    };
    return read_held_keys(cache_, lane, of.first_position, of.first_position + of.n_tokens, take);
  };
  std::vector<LaneDecision> lanes;
  SATCHEL_TRY(load_scores(span, held, lanes));
  // Tails stay as they are: only pages are made anew.
  for (LaneDecision& lane : lanes) {
    const std::size_t tail = cache_.text.n_tokens - cache_.lanes[lane.lane].n_tail();
    for (std::size_t i = 0; i < span.n_tokens; ++i)
      if (text.first + i >= tail) lane.scores[i] = kNeverEvict;
  }
  allocate(span, lanes);
  for (const LaneDecision& lane : lanes) {
    const LaneRewriter::TierOf tier_of = [&](std::size_t position, std::uint8_t now) {
      const bool goes = text.contains(position) && !cache_.text.is_protected(position) &&
                        lane.tiers[position - text.first] == kGone;
      return goes ? kGone : now;
    };
    SATCHEL_TRY(rewrite(lane.lane, tier_of, 0, [&](const PageRecord& page) {
      return !stays_for_others(cache_.lanes[lane.lane], page);
    }));
    SATCHEL_TRY(forget_weights(lane.lane, text));
  }
  ++report_.n_segments;
  return {};
}

// What a merger fitted to all that the lane kept is worse than nothing for a part of it. Pages that
// others hold as well stay as they are where no memory is left for another copy.
Result<void> Compaction::forget_weights(std::size_t index, const TextSegment& text) {
  if (!cache_.layout.pipeline.fits_counts()) return {};
  Lane& lane = cache_.lanes[index];
  Arena& arena = cache_.arena;
  for (std::size_t i = 0; i < lane.pages().size(); ++i) {
    PageRecord page = lane.pages()[i];
    if (page.layout->log_counts_at == 0 || !is_inside(page, text)) continue;
    if (arena.n_shares(page.extent) > 1) {
      cache_.table_is_stale = true;
      const Result<ExtentId> copy = arena.take(arena.bytes_of(page.extent));
      if (!copy.ok()) continue;
      const Result<void> copied =
          cache_.backend.copy(arena.at(*copy), arena.at(page.extent), arena.bytes_of(page.extent));
      arena.give(copied.ok() ? page.extent : *copy);
      SATCHEL_TRY(copied);
      page.extent = *copy;
    }
    const std::vector<std::byte> ones(page.n_tokens * sizeof(float));  // logarithms of 1
    page.serial = page.bytes_serial = cache_.next_serial++;
    const Result<void> set =
        cache_.backend.upload(arena.at(page.extent) + page.layout->log_counts_at, ones);
    lane.replace_page(i, page);
    SATCHEL_TRY(set);
  }
  return cache_.show(index);
}

Result<void> Compaction::thin_text(double keep, const Enough& enough) {
  if (!can_score_held(cache_)) return {};
  for (std::size_t i = 0; i < cache_.text.segments.size() && !enough(); ++i) {
    const TextSegment text = cache_.text.segments[i];
    if (!may_be_thinned(cache_, text)) continue;
    const double most = kHardlyMore * n_thinned(cache_, text, keep);
    if (static_cast<double>(n_held(cache_, text)) <= most) continue;
    SATCHEL_TRY(thin(text, keep));
  }
  return {};
}

Result<CompactionReport> Compaction::take_steps(const Enough& enough) {
  for (const ReclaimStep& step : cache_.layout.pipeline.reclaim_steps()) {
    if (enough()) break;
    SATCHEL_TRY(step.evicts() ? thin_text(cache_.layout.pipeline.keep() * step.share, enough)
                              : lower_text(step.tier, enough));
  }
  // A token may have gone through several tiers; at most all of them have.
  std::size_t n_in_pages = 0;
  for (const Lane& lane : cache_.lanes) n_in_pages += lane.n_body();
  report_.n_lowered = std::min(report_.n_lowered, n_in_pages);
  return finished();
}

// The reserve is free now and taken back at the end.
Result<CompactionReport> Compaction::reclaim(std::size_t free_bytes) {
  const std::size_t wanted = free_bytes + cache_.layout.reserve_bytes();
  spares_shared_ = true;
  return take_steps([&] { return cache_.arena.free_bytes() >= wanted; });
}

Result<CompactionReport> Compaction::shrink_to(std::size_t body_bytes) {
  std::vector<std::size_t> bytes(cache_.lanes.size());
  std::size_t sum = 0;
  const auto count = [&](std::size_t lane) {
    sum -= bytes[lane];
    bytes[lane] = 0;
    const Lane& of = cache_.lanes[lane];
    for (std::size_t i = 0; i < of.pages().size(); ++i)
      if (of.owns_bytes(i)) bytes[lane] += cache_.arena.bytes_of(of.pages()[i].extent);
    sum += bytes[lane];
  };
  for (std::size_t i = 0; i < bytes.size(); ++i) count(i);
  changed_.clear();
  return take_steps([&] {
    for (const std::size_t lane : changed_) count(lane);
    if (changed_.size() > 1) changed_ = {changed_.back()};  // that one may be at work still
    return sum <= body_bytes;
  });
}

Result<CompactionReport> Compaction::follow_recipe() {
  const Pipeline& pipeline = cache_.layout.pipeline;
  if (pipeline.decides() && (pipeline.n_own_codecs() > 1 || !can_score_held(cache_)))
    return Error{
        ErrorKind::unsupported, "CACHE_RECIPE",
        "Recipe \"" + cache_.layout.recipe.name() +
            "\" cannot choose from text whose queries are gone; it has to be prefilled again."};
  const Enough never = [] { return false; };
  SATCHEL_TRY(lower_text(kTierRecipe, never));
  if (cache_.layout.pipeline.decides())
    SATCHEL_TRY(thin_text(cache_.layout.pipeline.keep(), never));
  return finished();
}

std::size_t Compactor::floor_bytes() const {
  const CacheState& s = cache_;
  if (s.arena.has_far()) return stats_of(s).bytes;
  std::uint8_t tier = kTierExact;
  double share = 1;
  for (const ReclaimStep& step : s.layout.pipeline.reclaim_steps()) {
    tier = std::max(tier, step.tier);
    share = std::min(share, step.share);
  }
  const bool thins = share < 1 && can_score_held(s);
  // Of what is held of each text.
  std::vector<double> stays;
  for (const TextSegment& text : s.text.segments) {
    const double n = static_cast<double>(n_held(s, text));
    const bool goes = thins && may_be_thinned(s, text) && n > 0;
    stays.push_back(goes ? std::min(1.0, n_thinned(s, text, s.layout.pipeline.keep() * share) / n)
                         : 1.0);
  }
  const CacheStats now = stats_of(s);
  std::size_t bytes = now.bytes - now.body_bytes;
  for (std::size_t i = 0; i < s.lanes.size(); ++i)
    for (const PageRecord& page : s.lanes[i].pages()) {
      const std::size_t held = s.arena.bytes_of(page.extent);
      bytes += held;
      if (!may_change(s, page)) continue;
      double stay = 1;
      for (std::size_t t = 0;
           t < s.text.segments.size() && s.layout.takes_part(s.layout.layer_of[i]); ++t)
        if (is_inside(page, s.text.segments[t])) stay = stays[t];
      const auto n =
          static_cast<std::size_t>(std::ceil(static_cast<double>(page.live.count()) * stay));
      const std::size_t least =
          s.layout.page_bytes(std::max(tier, page.tier), s.lanes[i].token(), n);
      bytes -= held - std::min(held, least);
    }
  return bytes;
}

}  // namespace satchel::kvcache
