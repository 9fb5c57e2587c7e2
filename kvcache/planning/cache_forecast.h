// CacheForecast: what a cache would hold if text were prefilled into it, lane by lane and page by
// page, without its memory and without a model. The same plans as a prefill itself goes by, so the
// bytes are those that a cache then takes (cache_forecast_test.cpp), as far as anybody can know
// them:
//   exact   where every token stays, or what each lane keeps is known beforehand (Allocator::known)
//   about   where the scores of the text share a total out: lanes are taken to keep what the
//           head-budget profile says of such a share, or all alike where there is none
//   not     what is merely possible: that is the bound (MemoryPlanner)
// It holds the tails of its lanes, and what their pages would take: a sum that follows each step.
// The pages themselves are remembered as runs, as long as they may still go: until their text is
// decided, or falls behind a window. forecast.cpp prefills, forecast_decide.cpp says how many
// tokens a recipe keeps.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "kvcache/lanes/score_store.h"
#include "kvcache/planning/cache_view.h"
#include "kvcache/planning/memory_planner.h"
#include "kvcache/planning/pass_bytes.h"
#include "kvcache/planning/prefill_plan.h"

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

// What a lane keeps of a text, of which n_first and n_last tokens at its ends lie in sinks and
// tail.
struct LaneShare {
  std::size_t n_first = 0, n_last = 0, budget = 0;
  auto key() const { return std::tuple(n_first, n_last, budget); }
};

inline std::size_t less(std::size_t from, std::size_t n) {
  return from - std::min(from, n);
}

class CacheForecast {
 public:
  // Of an empty cache of this layout, which outlives it, in an arena that may be too small for it:
  // then nothing fits, but what would be held can still be counted.
  CacheForecast(const CacheLayout& layout, const MemoryPlanner::Memory& memory);

  // A text of so many tokens, in the spans that prefill_text() makes of it, decided as it goes and
  // at the end. Where memory ends before the text does, as if it did not.
  void prefill_text(std::size_t n_tokens, const PassBytes& pass);
  // As PrefillPlanner's.
  PrefillPlan largest_fit(const PrefillRequest& request, const PassBytes& pass) const;
  // One prefill, whether or not it fits, with other_bytes taken beside it meanwhile.
  void read(const PrefillRequest& request, std::size_t other_bytes);
  // What is pending is decided, after the second pass where one is wanted. Whether anything was.
  bool decide();

  std::size_t n_tokens() const { return text.n_tokens; }
  std::size_t bytes() const {
    return held_bytes +
           (has_scores ? ScoreStore::bytes_for(layout.shape.n_lanes(), text.n_tokens) : 0);
  }  // CacheStats::bytes

 private:
  std::size_t exact_bytes(std::size_t lane, std::size_t tail_kept) const {
    return Arena::rounded_up(Lane::exact_bytes(
        layout.layer(lane).head_dim, {.n_sinks = kSinkTokens, .n_tail = tail_kept + kFlushTokens}));
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
  std::vector<TierRun> runs_of_line(const PrefillPlan& plan, std::size_t lane) const;
  std::vector<TierRun> runs_of_kept(const PrefillPlan& plan, std::size_t lane, std::size_t budget);
  void read(const PrefillPlan& plan, std::size_t other_bytes);
  void fit_exact(std::size_t lane, std::size_t tail_kept, std::size_t beside);
  void drop_behind_windows();
  void decide_text(const TextSegment& segment);
  void decide_lane(const TextSegment& segment, std::size_t lane, std::size_t budget);
  void lower_lane(const TextSegment& segment, std::size_t lane);

  CacheView view() const { return {layout, text, since_flush, tails}; }

  const CacheLayout& layout;
  TextSegments text = {};
  std::size_t since_flush = 0;
  std::vector<LaneTail> tails;  // [n_lanes]
  MemoryPlanner::Memory memory;
  std::vector<std::vector<PlannedRun>> runs;  // [n_lanes]
  std::size_t held_bytes;                     // without scores
  bool has_scores = false;
  // Of the text that was last asked about: its tokens where nothing was scored, what lanes keep.
  std::size_t filtered_first = 0;
  std::vector<float> filtered = {};
  std::map<std::tuple<std::size_t, std::size_t, std::size_t>, std::vector<std::size_t>> shares = {};
};

}  // namespace satchel::kvcache
