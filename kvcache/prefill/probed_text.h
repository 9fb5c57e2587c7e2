// ProbedText: what a second pass looks at: text that the lanes hold already. Its queries are seen,
// its keys are dropped; what was observed of the text goes to the score store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kvcache/prefill/prefill_scratch.h"

namespace satchel::kvcache {

class ProbedText {
 public:
  // What a second pass sees of one lane: the slots of the probed stretch and where they stand.
  struct SeenLane {
    std::vector<kernels::ExactRun> runs;
    std::ptrdiff_t n_sink_runs = 0;  // of them, first
    std::vector<kernels::PageView> pages;
    std::vector<std::size_t> page_of;     // [pages] index in the lane
    std::vector<std::int32_t> positions;  // [slots]; -1: not of the stretch
  };

  // Slots of the lane with the most to score.
  static std::size_t n_slots(const CacheState& cache, const ProbeJob& job);

  ProbedText(PrefillScratch& scratch, const ProbeJob& job,
             std::unique_ptr<kernels::LaneTable> table);

  const ProbeJob& job() const { return job_; }
  const SeenLane& lane(std::size_t index) const { return lanes_[index]; }
  // Of the layer that begins.
  Result<void> find();
  // Again, after extents have moved.
  void place(std::size_t index);
  // Of the n_chunk queries q that begin with the pass's token `first`.
  Result<const float*> lse(const float* q, std::size_t first, std::size_t n_chunk);
  // At the end of a layer.
  Result<void> store_scores();
  // The text has been looked at.
  void mark() const;

 private:
  void find_runs(std::size_t lane);

  PrefillScratch& scratch_;
  CacheState& cache_;
  ProbeJob job_;
  std::vector<SeenLane> lanes_;  // [n_lanes]
  // [n_kv_heads] what the queries are normalised over, and the runs of it.
  std::unique_ptr<kernels::LaneTable> table_;
  std::vector<std::vector<kernels::ExactRun>> held_;
};

}  // namespace satchel::kvcache
