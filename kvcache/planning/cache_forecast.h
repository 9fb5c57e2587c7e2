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
#include <vector>

#include "kvcache/lanes/score_store.h"
#include "kvcache/planning/cache_view.h"
#include "kvcache/planning/memory_planner.h"
#include "kvcache/planning/pass_bytes.h"
#include "kvcache/planning/prefill_plan.h"

namespace satchel::kvcache {

// Tokens side by side in pages of one tier: whole pages, but for the last. Positions are taken to
// rise by one towards the last, also where only some tokens are kept.
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

// What a lane retains of a text, of which n_first and n_last tokens at its ends lie in sinks and
// tail.
struct Retained {
  std::size_t n_first = 0, n_last = 0, budget = 0;
  auto operator<=>(const Retained&) const = default;
};

inline std::size_t saturating_sub(std::size_t a, std::size_t b) {
  return a - std::min(a, b);
}

class CacheForecast {
 public:
  // Of an empty cache of this layout, which outlives it, in an arena that may be too small for it:
  // then nothing fits, but what would be held can still be counted.
  CacheForecast(const CacheLayout& layout, const MemoryPlanner::Memory& memory);

  // A text of so many tokens, in the spans that prefill_text() makes of it, decided as it goes and
  // at the end. Where memory ends before the text does, as if it did not.
  void prefill_text(std::size_t n_tokens, const PassBytes& pass);
  // As in plan_prefill.h.
  PrefillPlan largest_fit(const PrefillRequest& request, const PassBytes& pass) const;
  // One prefill, whether or not it fits, with other_bytes taken beside it meanwhile.
  void prefill(const PrefillRequest& request, std::size_t other_bytes);
  // What is pending is decided, after the second pass where one is wanted. Whether anything was.
  bool decide();

  std::size_t n_tokens() const { return text_.n_tokens; }
  std::size_t bytes() const {
    return held_bytes_ +
           (has_scores_ ? ScoreStore::bytes_for(layout_.shape.n_lanes(), text_.n_tokens) : 0);
  }  // CacheStats::bytes

 private:
  std::size_t exact_bytes(std::size_t lane, std::size_t tail_kept) const {
    return CacheLayout::exact_bytes(layout_.layer(lane).token(), tail_kept);
  }
  std::size_t free_bytes() const {
    return saturating_sub(memory_.arena_bytes, bytes() + memory_.others_bytes);
  }

  // [n_own_codecs()] tokens of the lane that go to pages.
  const std::vector<std::size_t>& body_by_tier(const TokenSpan& span, const Retained& of_lane);
  // In pages of their own.
  void add_pages(std::size_t lane, const PlannedRun& run);
  // Pages that end at `first` or behind it, of the tiers before tier_end: what they held, as a run.
  PlannedRun take_pages(std::size_t lane, std::size_t first, std::uint8_t tier_end);
  // Runs of text that is decided: their bytes stay what they are.
  void forget_decided();
  void keep_tail(std::size_t lane, std::size_t tail_kept);
  std::vector<std::size_t> budgets_of(const TokenSpan& span) const;
  std::vector<std::size_t> budgets_over_all(const TokenSpan& span, std::size_t total) const;
  // In order, without positions.
  std::vector<PlannedRun> runs_of_line(const PrefillPlan& plan, std::size_t lane) const;
  std::vector<PlannedRun> runs_of_kept(const PrefillPlan& plan, std::size_t lane,
                                       std::size_t budget);
  void prefill(const PrefillPlan& plan, std::size_t other_bytes);
  void fit_exact(std::size_t lane, std::size_t tail_kept, std::size_t beside);
  void drop_behind_windows();
  void decide_text(const TextSegment& segment);
  void decide_lane(const TextSegment& segment, std::size_t lane, std::size_t budget);
  void lower_lane(const TextSegment& segment, std::size_t lane);

  CacheView view() const {
    return {.layout = layout_, .text = text_, .since_flush = since_flush_, .tails = tails_};
  }

  const CacheLayout& layout_;
  TextSegments text_ = {};
  std::size_t since_flush_ = 0;
  std::vector<LaneTail> tails_;  // [n_lanes]
  MemoryPlanner::Memory memory_;
  std::vector<std::vector<PlannedRun>> runs_;  // [n_lanes]
  std::size_t held_bytes_;                     // without scores
  bool has_scores_ = false;
  // Of the text that was last asked about: its tokens where nothing was scored, what lanes keep.
  std::size_t filtered_first_ = 0;
  std::vector<float> filtered_ = {};
  std::map<Retained, std::vector<std::size_t>> by_tier_ = {};
};

}  // namespace satchel::kvcache
