// CacheForecast::State: a CacheBook whose lanes are only planned, and the pages that they would have.
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
struct PlannedPage {
  std::uint8_t tier = 0;
  std::size_t n_tokens = 0, last_position = 0;
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
        pages(shape.n_lanes()) {
    planned.resize(shape.n_lanes());
  }

  std::size_t exact_bytes(std::size_t lane, std::size_t tail_kept) const {
    return Arena::rounded_up(Lane::exact_bytes(
        layer(lane).head_dim, {.n_sinks = kSinkTokens, .n_tail = tail_kept + kFlushTokens}));
  }
  std::size_t bytes() const;
  std::size_t free_bytes() const { return less(memory.arena_bytes, bytes() + memory.others_bytes); }

  // [n_own_codecs()] tokens of the lane that go to pages.
  const std::vector<std::size_t>& body_by_tier(const TokenSpan& span, const LaneShare& share);
  void add_pages(std::size_t lane, const TierRun& run, std::size_t last_position);
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
  std::vector<std::vector<PlannedPage>> pages;  // [n_lanes]
  bool has_scores = false;
  // Of the text that was last asked about: its tokens where nothing was scored, what lanes keep.
  std::size_t filtered_first = 0;
  std::vector<float> filtered = {};
  std::map<std::tuple<std::size_t, std::size_t, std::size_t>, std::vector<std::size_t>> shares = {};
};

}  // namespace satchel::kvcache
