#include "kvcache/recipes/decide.h"

#include <algorithm>

namespace satchel::kvcache {

namespace {

// What can be met: no less than is marked to stay, no more than is there.
AssignedLane assigned(LaneDecision& lane) {
  const auto count = [&lane](auto&& what) {
    return static_cast<std::size_t>(std::count_if(lane.scores.begin(), lane.scores.end(), what));
  };
  const std::size_t least = count([](float score) { return score == kNeverEvict; });
  const std::size_t most = count([](float score) { return score != kNotThere; });
  lane.budget = std::clamp(lane.budget, least, std::max(least, most));
  lane.tiers.resize(lane.scores.size());
  return {.scores = lane.scores, .budget = lane.budget, .tiers = lane.tiers};
}

}  // namespace

void assign(const Pipeline& pipeline, std::span<LaneDecision> lanes) {
  for (std::size_t begin = 0, end = 0; begin < lanes.size(); begin = end) {
    std::vector<AssignedLane> of_layer;
    for (; end < lanes.size() && lanes[end].layer == lanes[begin].layer; ++end)
      of_layer.push_back(assigned(lanes[end]));
    pipeline.assigner().assign_layer(of_layer);
  }
  // A recipe may list fewer codecs than its assigner has tiers: its last one has all the rest.
  const auto last = static_cast<std::uint8_t>(pipeline.n_own_codecs() - 1);
  for (LaneDecision& lane : lanes)
    for (std::uint8_t& tier : lane.tiers)
      if (tier != kGone) tier = std::min(tier, last);
}

void decide(const Pipeline& pipeline, const TokenSpan& span, std::size_t total,
            std::span<LaneDecision> lanes) {
  std::vector<LaneScores> scores;
  for (const LaneDecision& lane : lanes) scores.push_back(lane.scores);
  std::vector<std::size_t> budgets(lanes.size());
  pipeline.allocator().lanes(span, scores, total, budgets);
  for (std::size_t i = 0; i < lanes.size(); ++i) lanes[i].budget = budgets[i];
  assign(pipeline, lanes);
}

}  // namespace satchel::kvcache
