// LayerPacker: the end of a layer. What its lanes retain is decided where the recipe does that
// here, gathered, and packed; new tails wait in scratch. Lanes do not change yet.
//   owns  the pages it made, until a lane takes them
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "kvcache/prefill/kept_references.h"
#include "kvcache/prefill/prefill_scratch.h"

namespace satchel::kvcache {

class LayerPacker {
 public:
  LayerPacker(PrefillScratch& scratch, const KeptReferences& references);
  ~LayerPacker();
  LayerPacker(LayerPacker&&) = delete;

  // weights [n_tokens]: what the scores of every layer are multiplied by.
  void weigh_by(std::vector<float> weights) { weights_ = std::move(weights); }
  // needs   all of the layer's tokens, and their scores where the plan wants some
  Result<void> pack_layer();
  // The pages made for a lane: the caller's from now on.
  std::vector<PageRecord> take_pages(std::size_t lane) { return std::exchange(pages_[lane], {}); }
  std::size_t n_pages(std::size_t lane) const { return pages_[lane].size(); }
  std::size_t n_evicted() const { return n_evicted_; }  // lane-tokens so far

 private:
  struct Run {  // tokens of a line side by side at one tier
    std::size_t head = 0, first = 0, n = 0;
    std::uint8_t tier = 0;
    bool is_kept = false;  // in kept(head), else in line(head)
  };
  Result<void> load_old_tails();
  Result<void> store_scores();
  Result<void> read_scores(std::size_t head, std::span<float> scores);
  void runs_of_line(std::size_t head, std::vector<Run>& runs);
  Result<void> decide_layer(std::vector<Run>& runs);
  Result<void> gather_kept(std::span<const std::vector<std::uint8_t>> tiers,
                           std::vector<Run>& runs);
  Result<void> pack(std::span<const Run> runs);
  Result<void> stage_tails();
  std::int32_t position_in_line(std::size_t head, std::size_t row) const;

  PrefillScratch& scratch_;
  const KeptReferences& references_;
  CacheState& cache_;
  const PrefillPlan& plan_;
  std::vector<float> weights_ = {};             // empty: all 1
  std::vector<std::vector<PageRecord>> pages_;  // [n_lanes] made so far
  // Rows of kept(head) by position, where a layer was decided.
  std::vector<std::vector<std::int32_t>> kept_positions_ = {};
  std::vector<std::vector<float>> counts_ = {};  // [n_kv_heads, n_tokens], where the merger counts
  std::size_t n_taking_part_ = 0;                // of the layers before this one
  std::size_t n_evicted_ = 0;
};

}  // namespace satchel::kvcache
