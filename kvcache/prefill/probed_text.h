// ProbedText: what a second pass looks at: a stretch of the text that the lanes hold already. Its
// queries are seen, its keys are dropped; what was observed of the text goes to the score store.
//   sees     sinks, the stretch, the exact newest tokens, and what the pass has said so far: so
//            neither cost nor scores depend on how long the rest of the text is. Layers with a
//            window see what they hold.
//   source   arXiv:2505.23416 (KVzip)
//   differs  there the pass sees all of the text, and its scores are normalised over sinks, stretch
//            and its own tokens by a second softmax; recall and KL are the same without
//            (docs/benchmarks/2026-11-recipes.md)
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kvcache/prefill/prefill_scratch.h"

namespace satchel::kvcache {

class ProbedText {
 public:
  // What a second pass sees of one lane: the slots of the probed stretch and where they stand.
  struct SeenLane {
    std::vector<kernels::ExactRun> runs;
    std::vector<kernels::PageView> pages;
    std::vector<std::size_t> page_of;     // [pages] index in the lane
    std::vector<std::int32_t> positions;  // [slots]; -1: not of the stretch
  };

  // Slots of the lane with the most to score.
  static std::size_t n_slots(const CacheState& cache, const ProbeJob& job);

  ProbedText(PrefillScratch& scratch, const ProbeJob& job);

  const ProbeJob& job() const { return job_; }
  const SeenLane& lane(std::size_t index) const { return lanes_[index]; }
  // Of the layer that begins.
  Result<void> find();
  // Again, after extents have moved.
  void place(std::size_t index);
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
};

}  // namespace satchel::kvcache
