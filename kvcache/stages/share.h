// What several stages need to share something out over lanes: scores that a layer has in common, how
// many tokens a lane must and can keep, and whole budgets from wishes.
#pragma once

#include <cstddef>
#include <span>

namespace satchel::kvcache {

struct ScoredLane;
struct LaneScores;

// Gives every lane of a layer the mean of what the lanes that hold a token scored it. What a lane
// does not hold (kNotThere) stays so.
void share_scores(std::span<const ScoredLane> lanes);

// Tokens that a lane keeps in any case, and tokens that it holds at all.
struct LaneRange {
  std::size_t least = 0, most = 0;
  std::size_t n_free() const { return most - least; }
};
LaneRange lane_range(const LaneScores& lane);

// Whole shares with the sum min(total, sum of caps), none above its cap: wishes rounded down, then
// one each by the largest remainder, ties to the lower index, until all is given.
void share_out(std::span<const double> wishes, std::span<const std::size_t> caps, std::size_t total,
               std::span<std::size_t> shares);

}  // namespace satchel::kvcache
