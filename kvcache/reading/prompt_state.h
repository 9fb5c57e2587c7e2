// PromptReading::State: a span between begin_reading() and commit(), or a probe. prompt_reading.cpp
// is its outward half, pack_layer.cpp decides and packs a layer, move_in.cpp brings it into the
// lanes, probe.cpp scores what a second pass sees.
//   invariants  1 the cache's lanes do not change before commit(): what is new lies in scratch and in
//                 pages that no lane knows yet
//               2 layers come in order, each with all of the span's tokens
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kvcache/reading/reading_plan.h"

namespace satchel::kvcache {

struct PromptReading::State {
  State(CacheState& cache_in, ReadingPlan plan_in, Arena::Lease lease_in,
        std::unique_ptr<kernels::LaneTable> table_in);
  ~State();
  State(State&&) = delete;

  // What a second pass sees of one lane: the slots of the probed stretch and where they stand.
  struct ProbedLane {
    std::vector<kernels::ExactRun> runs;
    std::ptrdiff_t n_sink_runs = 0;  // of them, first
    std::vector<kernels::PageView> pages;
    std::vector<std::size_t> page_of;     // [pages] index in the lane
    std::vector<std::int32_t> positions;  // [slots]; -1: not of the stretch
  };

  std::size_t n_kv_heads() const { return cache.shape.layers[layer].n_kv_heads; }
  std::size_t head_dim() const { return cache.shape.layers[layer].head_dim; }
  std::size_t lane_index(std::size_t head) const { return cache.first_lane[layer] + head; }
  std::byte* at(std::size_t offset) const { return lease.data() + offset; }
  ExactBlock line(std::size_t head) const;   // all of it
  ExactBlock fresh(std::size_t head) const;  // its new tokens
  ExactBlock kept(std::size_t head) const;
  float* scores(std::size_t head) const;
  float* state() const;                                                 // null: the scorer has none
  kernels::Batch batch(std::size_t first, std::size_t n_tokens) const;  // of the span's tokens
  std::size_t head_room() const { return plan.line_tokens() - plan.n_tokens(); }

  void extents_moved();
  Result<void> show_lanes();
  Result<void> zero_scores();
  std::vector<ObservedLane> observed_lanes() const;
  // Exact K and V of the chunk whose first token is the span's `first`, of every head.
  std::vector<kernels::ExactRun> chunk_runs(std::size_t first) const;
  bool any_scored() const;  // of this layer's lanes
  Result<void> observe_chunk(const Seen& seen);

  // blocks.cpp
  Result<void> hold(const Seen& seen);
  Result<void> observe_block(std::size_t first, std::size_t n);

  // pack_layer.cpp
  struct Run {  // tokens of a line side by side at one tier
    std::size_t head = 0, first = 0, n = 0;
    std::uint8_t tier = 0;
    bool is_kept = false;  // in kept(head), else in line(head)
  };
  Result<void> load_old_tails();
  Result<void> store_scores();
  Result<void> pack_layer();
  void runs_of_line(std::size_t head, std::vector<Run>& runs);
  Result<void> decide_layer(std::vector<Run>& runs);
  Result<void> gather_kept(std::span<const std::vector<std::uint8_t>> tiers,
                           std::vector<Run>& runs);
  Result<void> pack(std::span<const Run> runs);
  Result<void> stage_tails();
  std::int32_t position_in_line(std::size_t head, std::size_t row) const;

  // probe.cpp
  Result<void> find_probed();
  void find_probed_runs(std::size_t lane);
  void place_probed(std::size_t lane);  // again, after extents have moved
  // Of the chunk's queries q, whose first token is the span's token `first`.
  Result<const float*> probed_lse(const float* q, std::size_t first);
  Result<void> keep_probed();

  // move_in.cpp
  Result<void> move_in(std::size_t lane);
  Result<CompactionReport> commit_span();

  CacheState& cache;
  ReadingPlan plan;
  Arena::Lease lease;
  std::unique_ptr<kernels::LaneTable> table;
  std::vector<std::int32_t> positions = {};  // of the new tokens
  std::vector<std::array<kernels::ExactRun, 3>> runs = {};
  std::vector<std::size_t> n_runs = {};
  std::vector<std::vector<PageRecord>> pages = {};  // [n_lanes] made so far
  // Rows of kept(head) by position, where a layer was decided.
  std::vector<std::vector<std::int32_t>> kept_positions = {};
  std::vector<std::vector<float>> counts = {};  // [n_kv_heads, n_tokens], where the merger counts
  std::size_t layer = 0, n_read = 0, n_chunk = 0;
  std::size_t n_taking_part = 0;  // of the layers before this one
  std::size_t n_evicted = 0;      // lane-tokens so far
  bool layer_open = false, committed = false;
  std::vector<std::size_t> chunks_before = {};  // of the score store
  ProbeJob job = {};
  std::vector<ProbedLane> probed = {};  // [n_lanes]
  // [n_kv_heads] what a probe's queries are normalised over, and the runs of it.
  std::unique_ptr<kernels::LaneTable> probed_table = {};
  std::vector<std::vector<kernels::ExactRun>> held_runs = {};
};

}  // namespace satchel::kvcache
