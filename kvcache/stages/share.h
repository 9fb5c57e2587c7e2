// Distributes tokens over lanes: scores shared by a layer, the range of a lane's budget,
// and whole budgets from real-valued shares.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace satchel::kvcache {

struct ScoredLane;

// Gives every lane of a layer the mean score over the lanes that hold a token. kNotThere entries do
// not change.
void share_scores(std::span<const ScoredLane> lanes);

// The range of a lane's budget: protected tokens, and tokens that it holds.
struct LaneRange {
  std::size_t least = 0, most = 0;
  std::size_t n_free() const { return most - least; }
};
LaneRange lane_range(std::span<const float> scores);
std::vector<LaneRange> lane_ranges(std::span<const std::span<const float>> lanes);
std::size_t n_least(std::span<const LaneRange> lanes);  // of all together

// Rounds what is desired down, then adds one each by the largest remainder, ties to the lower
// index. The sum is min(total, sum of caps); no share exceeds its cap.
void share_out(std::span<const double> desired, std::span<const std::size_t> caps,
               std::size_t total, std::span<std::size_t> shares);
// Budgets of lanes: each its least, and of what the total leaves what is desired beside that.
void share_rest(std::span<const double> desired, std::span<const LaneRange> lanes,
                std::size_t total, std::span<std::size_t> budgets);

}  // namespace satchel::kvcache
