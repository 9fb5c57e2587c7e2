// Where memory is short: the recipe's steps, one after the other, each from the oldest text on. All
// text is at one step before any goes to the next: the error of a coarser tier grows faster than what it
// saves, so that two texts at 3 bits lose less than one at 4 and one at 2 (docs/codecs.md).
#include <algorithm>
#include <cmath>

#include "kvcache/compaction/compaction.h"
#include "kvcache/compaction/held_keys.h"

namespace satchel::kvcache {
namespace {

// Chosen. A text that holds hardly more than it may is left alone: what would go is not worth reading
// all of its keys.
constexpr double kHardlyMore = 1.02;

bool is_decided(const TextSpan& text) {
  return text.state == SpanState::done && text.kind != SpanKind::kept;
}

bool is_inside(const PageRecord& page, const TextSpan& text) {
  return static_cast<std::size_t>(page.last_position) >= text.first &&
         static_cast<std::size_t>(page.last_position) < text.end();
}

// Nothing in it is kept, open or waits.
bool may_change(const CacheBook& cache, const PageRecord& page) {
  return std::all_of(cache.spans.begin(), cache.spans.end(), [&](const TextSpan& text) {
    return is_decided(text) || static_cast<std::size_t>(page.last_position) < text.first ||
           static_cast<std::size_t>(page.first_position) >= text.end();
  });
}

}  // namespace

Result<void> Compaction::lower_text(std::uint8_t tier, const Enough& enough) {
  const LaneRewriter::TierOf tier_of = [tier](std::size_t, std::uint8_t now) {
    return std::max(now, tier);
  };
  for (const TextSpan& text : cache_.spans) {
    if (!is_decided(text)) continue;
    const LaneRewriter::Takes takes = [&](const PageRecord& page) {
      return page.tier < tier && is_inside(page, text) && may_change(cache_, page) && !enough();
    };
    for (std::size_t i = 0; i < cache_.lanes.size() && !enough(); ++i)
      SATCHEL_TRY(rewrite(i, tier_of, 0, takes));
  }
  return {};
}

// Lane-tokens of the text in pages of layers that take part, about: pages may reach over its ends.
std::size_t Compaction::n_held(const TextSpan& text) const {
  std::size_t n = 0;
  for (std::size_t i = 0; i < cache_.lanes.size(); ++i) {
    if (!cache_.takes_part(cache_.layer_of[i])) continue;
    for (const PageRecord& page : cache_.lanes[i].pages())
      if (is_inside(page, text)) n += page.live.count();
  }
  return n;
}

// Whether its tokens could be scored at all.
Result<bool> Compaction::thin(const TextSpan& text, double keep) {
  TokenSpan span = cache_.token_span(text.first, text.n_tokens);
  span.keep = keep;
  const Scorer& scorer = cache_.pipeline.scorer();
  bool known = true;
  const ScoresOf held = [&](std::size_t lane, const TokenSpan& of,
                            std::span<float> scores) -> Result<void> {
    const std::span<const float> worth = cache_.worth_of(lane);
    const std::size_t d = cache_.layer(lane).head_dim;
    const TakesKey take = [&](std::size_t position, std::span<const float> key) {
      known = scorer.score_held({.k = key, .head_dim = d, .worth = worth},
                                scores.subspan(position - of.first_position, 1)) &&
              known;
    };
    return read_held_keys(cache_, lane, of.first_position, of.first_position + of.n_tokens, take);
  };
  std::vector<LaneDecision> lanes;
  SATCHEL_TRY(load_scores(span, held, lanes));
  if (!known) return false;
  // Tails stay as they are: only pages are made anew.
  for (LaneDecision& lane : lanes) {
    const std::size_t tail = cache_.n_tokens - cache_.lanes[lane.lane].n_tail();
    for (std::size_t i = 0; i < span.n_tokens; ++i)
      if (text.first + i >= tail) lane.scores[i] = kNeverEvict;
  }
  share_out(span, lanes);
  for (const LaneDecision& lane : lanes) {
    const LaneRewriter::TierOf tier_of = [&](std::size_t position, std::uint8_t now) {
      const bool goes = position >= text.first && position < text.end() &&
                        !cache_.is_protected(position) &&
                        lane.tiers[position - text.first] == kGone;
      return goes ? kGone : now;
    };
    SATCHEL_TRY(rewrite(lane.lane, tier_of, 0));
  }
  ++report_.n_spans;
  return true;
}

Result<void> Compaction::thin_text(double keep, const Enough& enough) {
  const std::size_t n_lanes = cache_.token_span(0, 1).n_lanes;
  for (std::size_t i = 0; i < cache_.spans.size() && !enough(); ++i) {
    const TextSpan text = cache_.spans[i];
    const bool asked =
        cache_.pipeline.fires({.occasion = Occasion::asked, .n_tokens = text.n_tokens});
    const double most = keep * kHardlyMore * static_cast<double>(text.n_tokens * n_lanes);
    if (!is_decided(text) || !asked || static_cast<double>(n_held(text)) <= most) continue;
    SATCHEL_TRY_ASSIGN(const bool known, thin(text, keep));
    if (!known) return {};
  }
  return {};
}

Result<CompactionReport> Compaction::take_steps(const Enough& enough) {
  for (const RoomStep& step : cache_.pipeline.room()) {
    if (enough()) break;
    SATCHEL_TRY(step.evicts() ? thin_text(cache_.pipeline.keep() * step.share, enough)
                              : lower_text(step.tier, enough));
  }
  // A token may have gone through several tiers.
  std::size_t n_in_pages = 0;
  for (const Lane& lane : cache_.lanes) n_in_pages += lane.n_body();
  report_.n_lowered = std::min(report_.n_lowered, n_in_pages);
  cache_.reserve_lists();
  SATCHEL_TRY(cache_.show_all_if_stale());
  return report_;
}

// The reserve is free now and taken back at the end.
Result<CompactionReport> Compaction::make_room(std::size_t free_bytes) {
  const std::size_t wanted =
      free_bytes + reserve_bytes(cache_.shape, cache_.layouts, cache_.pipeline);
  return take_steps([&] { return cache_.arena.free_bytes() >= wanted; });
}

// Only the lane that is made anew changes.
Result<CompactionReport> Compaction::shrink_to(std::size_t body_bytes) {
  const auto bytes_of = [this](std::size_t lane) {
    std::size_t bytes = 0;
    for (const PageRecord& page : cache_.lanes[lane].pages())
      bytes += cache_.arena.bytes_of(page.extent);
    return bytes;
  };
  std::vector<std::size_t> bytes;
  std::size_t sum = 0;
  for (std::size_t i = 0; i < cache_.lanes.size(); ++i) sum += bytes.emplace_back(bytes_of(i));
  std::size_t counted = now_;
  return take_steps([&] {
    for (const std::size_t lane : {counted, now_}) {
      const std::size_t now = bytes_of(lane);
      sum = sum - bytes[lane] + now;
      bytes[lane] = now;
    }
    counted = now_;
    return sum <= body_bytes;
  });
}

Result<CompactionReport> Compaction::follow_recipe() {
  const Enough never = [] { return false; };
  SATCHEL_TRY(lower_text(kTierRecipe, never));
  if (cache_.pipeline.decides()) SATCHEL_TRY(thin_text(cache_.pipeline.keep(), never));
  cache_.reserve_lists();
  SATCHEL_TRY(cache_.show_all_if_stale());
  return report_;
}

std::size_t Cache::floor_bytes() const {
  const State& s = *state_;
  std::uint8_t tier = kTierExact;
  double share = 1;
  for (const RoomStep& step : s.pipeline.room()) {
    tier = std::max(tier, step.tier);
    share = std::min(share, step.share);
  }
  const CacheStats now = stats();
  std::size_t bytes = now.bytes - now.body_bytes;
  for (std::size_t i = 0; i < s.lanes.size(); ++i)
    for (const PageRecord& page : s.lanes[i].pages()) {
      const std::size_t held = s.arena.bytes_of(page.extent);
      const double stay = s.takes_part(s.layer_of[i]) ? share : 1;
      const auto n =
          static_cast<std::size_t>(std::ceil(static_cast<double>(page.live.count()) * stay));
      const std::size_t least = s.page_bytes(std::max(tier, page.tier), s.lanes[i].head_dim(), n);
      bytes += may_change(s, page) ? std::min(held, least) : held;
    }
  return bytes;
}

Result<CompactionReport> Cache::make_room(std::size_t free_bytes) {
  State& s = *state_;
  SATCHEL_ASSERT(s.reading == nullptr);
  s.undo_open_step();
  return Compaction(s).make_room(free_bytes);
}

Result<CompactionReport> Cache::shrink_to(std::size_t bytes) {
  State& s = *state_;
  SATCHEL_TRY(s.make_idle());
  const CacheStats now = stats();
  const std::size_t fixed = now.bytes - now.body_bytes;
  return Compaction(s).shrink_to(bytes - std::min(bytes, fixed));
}

Result<CompactionReport> Cache::follow_recipe() {
  State& s = *state_;
  SATCHEL_TRY(s.make_idle());
  return Compaction(s).follow_recipe();
}

}  // namespace satchel::kvcache
