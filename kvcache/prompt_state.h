// PromptReading::State: a prompt between begin_prompt() and commit(). prompt_reading.cpp is its
// outward half, prompt_stage.cpp chooses, packs and moves in.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kvcache/cache_state.h"
#include "kvcache/reading_plan.h"

namespace satchel::kvcache {

// invariants  1 the cache's lanes do not change before commit(): what is new lies in scratch and in
//               pages that no lane knows yet
//             2 layers come in order, each with all of the prompt's tokens
struct PromptReading::State {
  CacheState& cache;
  ReadingPlan plan;
  ScratchLease scratch;
  std::vector<PageId> pages = {};                  // [plan.n_pages], lane after lane
  std::vector<kernels::PageView> page_views = {};  // of them, once encoded
  std::vector<std::int32_t> positions = {};        // [n_tokens]
  std::vector<std::int32_t> kept = {};             // of the lane in work, indices into the prompt
  std::vector<std::vector<std::int32_t>> staged_positions = {};  // [n_lanes]
  std::vector<std::array<kernels::ExactRun, 3>> runs = {};       // [n_kv_heads]
  std::vector<kernels::LaneView> views = {};                     // [n_kv_heads]
  std::size_t layer = 0, n_read = 0, n_chunk = 0;
  bool layer_open = false;

  State(CacheState& cache_in, ReadingPlan plan_in, ScratchLease scratch_in)
      : cache(cache_in), plan(std::move(plan_in)), scratch(std::move(scratch_in)) {
    cache.reading = true;
  }
  ~State() {
    for (auto page = pages.rbegin(); page != pages.rend(); ++page) cache.pool.give_page(*page);
    cache.reading = false;
  }
  State(State&&) = delete;

  std::size_t n_kv_heads() const { return cache.shape.n_kv_heads; }
  std::size_t lane_index(std::size_t head) const { return layer * n_kv_heads() + head; }
  std::byte* at(std::size_t offset) const { return scratch.data() + offset; }
  ExactBlock fresh(std::size_t head) const;
  float* scores(std::size_t head) const {
    return reinterpret_cast<float*>(at(plan.scores_at + head * plan.scores_head_bytes));
  }
  SpanLane span_lane(std::size_t head) const;

  void refresh_views();
  Result<void> choose(std::size_t head);
  // Tokens first … first + n of the line "old tail, then kept tokens that are no sinks" go to
  // `target` from slot `to` on.
  Result<void> place(std::size_t head, std::size_t first, std::size_t n, const ExactBlock& target,
                     std::size_t to) const;
  Result<void> place_kept(std::size_t head, std::size_t first, std::size_t n,
                          const ExactBlock& target, std::size_t to) const;
  std::int32_t position_in_line(std::size_t head, std::size_t index) const;
  Result<void> encode(std::size_t head);
  Result<void> stage(std::size_t head);
  Result<void> move_in(std::size_t lane);
};

}  // namespace satchel::kvcache
