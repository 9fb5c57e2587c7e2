// CacheForecast::State: a CacheBook whose lanes are only planned, and what their pages would take: a
// sum that follows each step. The pages themselves are remembered as runs, as long as they may still
// go: until their text is decided, or falls behind a window.
// forecast.cpp reads, forecast_decide.cpp says how many tokens a recipe keeps.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "kvcache/cache_forecast.h"
#include "kvcache/reading/reading_plan.h"

namespace satchel::kvcache {

// Tokens side by side that go to pages of one tier.
struct TierRun {
  std::uint8_t tier = 0;
  std::size_t n = 0;
};
// Such a run in its pages: whole ones, but for the last. Positions are taken to rise by one towards
// the last, also where only some tokens are kept.
struct PlannedRun {
  std::uint8_t tier = 0;
  std::size_t n_tokens = 0, last_position = 0;

  // Of its first pages: all that end before the position.
  std::size_t n_before(std::size_t position) const {
    if (last_position < position) return n_tokens;
    const std::size_t behind = last_position - position + 1;
    return n_tokens < behind ? 0
                             : (n_tokens - behind) / kernels::kPageTokens * kernels::kPageTokens;
  }
};

// What a lane keeps of a text, of which n_first and n_last tokens at its ends lie in sinks and tail.
struct LaneShare {
  std::size_t n_first = 0, n_last = 0, budget = 0;
  auto key() const { return std::tuple(n_first, n_last, budget); }
};

inline std::size_t less(std::size_t from, std::size_t n) {
  return from - std::min(from, n);
}

struct CacheForecast::State : CacheBook {
  State(const CacheShape& shape_in, const Recipe& recipe_in, TierLayouts layouts_in,
        const Memory& memory_in)
      : CacheBook(shape_in, recipe_in, std::move(layouts_in)),
        memory(memory_in),
        runs(shape.n_lanes()),
        held_bytes(fixed_bytes(shape, layouts, pipeline)) {
    planned.assign(shape.n_lanes(), {.tail_kept = pipeline.tail()});
  }

  std::size_t exact_bytes(std::size_t lane, std::size_t tail_kept) const {
    return Arena::rounded_up(Lane::exact_bytes(
        layer(lane).head_dim, {.n_sinks = kSinkTokens, .n_tail = tail_kept + kFlushTokens}));
  }
  std::size_t bytes() const {
    return held_bytes + (has_scores ? ScoreStore::bytes_for(shape.n_lanes(), n_tokens) : 0);
  }
  std::size_t free_bytes() const { return less(memory.arena_bytes, bytes() + memory.others_bytes); }

  // [n_own_codecs()] tokens of the lane that go to pages.
  const std::vector<std::size_t>& body_by_tier(const TokenSpan& span, const LaneShare& share);
  // In pages of their own.
  void add_pages(std::size_t lane, const TierRun& run, std::size_t last_position);
  // Pages that end at `first` or behind it, of the tiers before tier_end: what they held, as a run.
  PlannedRun take_pages(std::size_t lane, std::size_t first, std::uint8_t tier_end);
  // Runs of text that is decided: their bytes stay what they are.
  void forget_decided();
  void keep_tail(std::size_t lane, std::size_t tail_kept);
  std::vector<std::size_t> budgets_of(const TokenSpan& span) const;
  std::vector<std::size_t> budgets_over_all(const TokenSpan& span, std::size_t total) const;
  std::vector<TierRun> runs_of_line(const ReadingPlan& plan, std::size_t lane) const;
  std::vector<TierRun> runs_of_kept(const ReadingPlan& plan, std::size_t lane, std::size_t budget);
  void read(const ReadingPlan& plan, std::size_t other_bytes);
  void fit_exact(std::size_t lane, std::size_t tail_kept, std::size_t beside);
  void drop_behind_windows();
  void decide_text(const TextSpan& text);
  void decide_lane(const TextSpan& text, std::size_t lane, std::size_t budget);
  void lower_lane(const TextSpan& text, std::size_t lane);

  Memory memory;
  std::vector<std::vector<PlannedRun>> runs;  // [n_lanes]
  std::size_t held_bytes;                     // without scores
  bool has_scores = false;
  // Of the text that was last asked about: its tokens where nothing was scored, what lanes keep.
  std::size_t filtered_first = 0;
  std::vector<float> filtered = {};
  std::map<std::tuple<std::size_t, std::size_t, std::size_t>, std::vector<std::size_t>> shares = {};
};

}  // namespace satchel::kvcache
