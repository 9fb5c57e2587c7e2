// Prefill::State: between begin() and commit(). It shows the lanes of the layer in work to
// attention and offers queries to the scorer; PrefillScratch knows where arrays lie, LayerPacker
// packs a layer, ProbedText is what a second pass looks at. prefill.cpp is the outward half,
// blocks.cpp holds queries back until their block is whole, move_in.cpp brings what was packed into
// the lanes.
//   invariants  1 the cache's lanes do not change before commit(): what is new lies in scratch and
//                 in pages that no lane knows yet
//               2 layers come in order, each with all of the span's tokens
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <vector>

#include "kvcache/prefill/kept_references.h"
#include "kvcache/prefill/pack_layer.h"
#include "kvcache/prefill/prefill.h"
#include "kvcache/prefill/prefill_scratch.h"
#include "kvcache/prefill/probed_text.h"

namespace satchel::kvcache {

struct Prefill::State final : ExtentUser {
  // `scored`: the positions whose scores go to the store, where the plan says so.
  static Result<Prefill> open(CacheState& cache, PrefillPlan plan, const ProbeJob& scored);
  static Result<Prefill> make(CacheState& cache, PrefillPlan plan,
                              const std::vector<std::size_t>& chunks_before);
  State(CacheState& cache_in, PrefillPlan plan_in, Arena::Lease lease,
        std::unique_ptr<kernels::LaneTable> table_in);
  ~State() override;
  State(State&&) = delete;

  void extents_moved() override;
  // Of the layer in work, or of a shared one that has ended.
  Result<void> show_lanes(std::size_t layer);
  Result<void> hold_layer();  // what a shared layer is read by later
  std::vector<ObservedLane> observed_lanes() const;
  // Exact K and V of the chunk whose first token is the span's `first`, of every head.
  std::vector<kernels::ExactRun> chunk_runs(std::size_t first) const;
  bool any_scored() const;  // of this layer's lanes
  bool wants_references() const;
  Result<void> observe_chunk(const Seen& seen);
  // blocks.cpp
  Result<void> hold(const Seen& seen);
  Result<void> observe_block(std::size_t first, std::size_t n);
  // move_in.cpp
  Result<void> move_in(std::size_t lane);
  Result<CompactionReport> commit_span();

  CacheState& cache;
  PrefillScratch scratch;
  const PrefillPlan& plan;  // the scratch's
  KeptReferences references;
  LayerPacker packer;
  std::optional<ProbedText> probe = {};
  std::unique_ptr<kernels::LaneTable> table;
  std::vector<std::array<kernels::ExactRun, 3>> runs = {};
  std::vector<std::size_t> n_runs = {};
  std::size_t n_read = 0, n_chunk = 0;
  bool layer_open = false, committed = false;
  std::vector<std::size_t> chunks_before = {};  // of the score store
};

}  // namespace satchel::kvcache
