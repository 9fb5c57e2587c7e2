// What mergers share: a lane's keys or values in main memory, in fp32, and how alike they are.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kvcache/stages/stage.h"

namespace satchel::kvcache {

struct LaneRows {
  std::size_t head_dim = 0;
  std::vector<float> x;  // [n_tokens, head_dim]
  std::size_t n() const { return x.size() / head_dim; }
  std::span<const float> row(std::size_t t) const {
    return std::span(x).subspan(t * head_dim, head_dim);
  }
  std::span<float> row(std::size_t t) { return std::span(x).subspan(t * head_dim, head_dim); }
};

//   from  lane.k or lane.v
Result<LaneRows> download_rows(kernels::Backend& backend, const Half* from, const MergeLane& lane);
Result<void> upload_rows(kernels::Backend& backend, const LaneRows& rows, Half* to);

// In eight sums of a fixed order: quick, and the same everywhere. Lengths are multiples of 8.
float dot(std::span<const float> a, std::span<const float> b);
// Of two keys, at most 1; 0 where one of them has no direction.
float cosine(std::span<const float> a, std::span<const float> b);
// Each row brought to length 1, so that dot() is a cosine; zeros stay.
LaneRows directions_of(LaneRows rows);

// Given away by the assigner, and there to be merged.
inline bool is_dropped(const MergeLane& lane, std::size_t t) {
  return lane.tiers[t] == kGone && lane.scores[t] != kNotThere;
}
std::vector<std::size_t> kept_tokens(const MergeLane& lane);

// A dropped token and the kept one that it merges into.
struct MergedInto {
  std::size_t source = 0, carrier = 0;
  float weight = 0;
};
// Every carrier becomes the mean of itself and its sources, K and V with the same weights, none below
// 0; where a carrier's sum to 0 all count alike. Counts are added up.
//   own   [n_tokens], what a carrier itself weighs
//   keys  as downloaded; changed
Result<void> merge_into(kernels::Backend& backend, const MergeLane& lane,
                        std::span<const MergedInto> merged, std::span<const float> own,
                        LaneRows& keys);

}  // namespace satchel::kvcache
