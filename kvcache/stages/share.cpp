#include "kvcache/stages/share.h"

#include <algorithm>
#include <numeric>

#include "kvcache/stages/stage.h"

namespace satchel::kvcache {

void share_scores(std::span<const ScoredLane> lanes) {
  if (lanes.empty()) return;
  for (std::size_t t = 0; t < lanes.front().scores.size(); ++t) {
    double sum = 0, n = 0;
    for (const ScoredLane& lane : lanes) {
      if (lane.scores[t] == kNotThere) continue;
      sum += static_cast<double>(lane.scores[t]);
      ++n;
    }
    for (const ScoredLane& lane : lanes)
      if (lane.scores[t] != kNotThere) lane.scores[t] = static_cast<float>(sum / n);
  }
}

LaneRange lane_range(std::span<const float> scores) {
  LaneRange range;
  for (const float score : scores) {
    range.least += score == kNeverEvict ? 1 : 0;
    range.most += score == kNotThere ? 0 : 1;
  }
  return range;
}

std::vector<LaneRange> lane_ranges(std::span<const LaneScores> lanes) {
  std::vector<LaneRange> ranges;
  for (const LaneScores& lane : lanes) ranges.push_back(lane_range(lane));
  return ranges;
}

std::size_t n_least(std::span<const LaneRange> lanes) {
  std::size_t n = 0;
  for (const LaneRange& lane : lanes) n += lane.least;
  return n;
}

void share_rest(std::span<const double> desired, std::span<const LaneRange> lanes,
                std::size_t total, std::span<std::size_t> budgets) {
  std::vector<std::size_t> free;
  for (const LaneRange& lane : lanes) free.push_back(lane.n_free());
  share_out(desired, free, total - std::min(total, n_least(lanes)), budgets);
  for (std::size_t i = 0; i < lanes.size(); ++i) budgets[i] += lanes[i].least;
}

void share_out(std::span<const double> desired, std::span<const std::size_t> caps,
               std::size_t total, std::span<std::size_t> shares) {
  constexpr double kSlack = 1e-9;  // 131.9999999999 is 132
  SATCHEL_ASSERT(desired.size() == caps.size() && desired.size() == shares.size());
  std::size_t left = std::min(total, std::accumulate(caps.begin(), caps.end(), std::size_t{0}));
  std::vector<double> remainder(desired.size());
  for (std::size_t i = 0; i < desired.size(); ++i) {
    shares[i] = std::min({caps[i], left, static_cast<std::size_t>(desired[i] + kSlack)});
    remainder[i] = desired[i] - static_cast<double>(shares[i]);
    left -= shares[i];
  }
  std::vector<std::size_t> order(desired.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return remainder[a] > remainder[b] + kSlack;
  });
  while (left > 0)
    for (const std::size_t i : order)
      if (left > 0 && shares[i] < caps[i]) ++shares[i], --left;
}

}  // namespace satchel::kvcache
