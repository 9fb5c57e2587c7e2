// Helpers for mergers: a lane's keys or values as fp32 in main memory, and their similarity.
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

// Uses eight sums in a fixed order: fast, and the same on every machine. Lengths are multiples of
// 8.
float dot(std::span<const float> a, std::span<const float> b);
// Cosine similarity, at most 1; 0 if a vector has no direction.
float cosine(std::span<const float> a, std::span<const float> b);
// Normalises each row, so that dot() is the cosine; zero rows stay zero.
LaneRows directions_of(LaneRows rows);

// Whether the assigner drops a token that the lane still holds.
inline bool is_dropped(const MergeLane& lane, std::size_t t) {
  return lane.tiers[t] == kGone && lane.scores[t] != kNotThere;
}
std::vector<std::size_t> kept_tokens(const MergeLane& lane);

// A dropped token and the retained token into which it merges.
struct MergedInto {
  std::size_t source = 0, carrier = 0;
  float weight = 0;
};
// Replaces every carrier by the weighted mean of itself and its sources, with the same weights for
// K and V. Weights are >= 0; if a carrier's sum is 0, all count alike. Counts are added up.
//   own   [n_tokens], a carrier's own weight
//   keys  as downloaded; modified
Result<void> merge_into(kernels::Backend& backend, const MergeLane& lane,
                        std::span<const MergedInto> merged, std::span<const float> own,
                        LaneRows& keys);

}  // namespace satchel::kvcache
