// Spends part of a lane's budget on representatives of the dropped tokens instead of the next best
// scores. Tokens on which the layer's lanes agree in the same way represent one another. It can
// replace top_k in any recipe.
//   formula bit c of a token = it is among the `budget` best of lane c; distance = bits in which it
//           is unlike the anchor. A lane's budget, less what is protected: 1 - share of it goes to
//           the best by score, B to representatives. What some lane would let go, in order of
//           distance and position, is cut into B equal parts, the middle of each stays in all lanes
//           of the layer; a lane that has one of them anyway takes its next best instead
//   params  share      of what a lane keeps beside protected tokens (0.25)
//           alternate  the anchor; false: the mean of all tokens, where a bit is 1 if more than
//                      half have it (below half of the tokens none has); true: 0, 1, 0, 1 … (false)
//   cost    sorts a layer's tokens once, and chooses three times for each of its lanes
//   source  arXiv:2503.00022 (KVCrush) sections III-A and III-B
//   differs a bit for each lane, where the paper has one for each query head: scores are a lane's
//           here; equal parts in order of distance, of each the middle one, where the paper puts
//           tokens into the nearest bucket and draws: with one anchor all distances are to the same
//           point; no random anchor; in a lane of another budget than its neighbours' the parts are
//           as many as it needs
#include <algorithm>
#include <cmath>
#include <vector>

#include "kvcache/stages/ranking.h"
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {

class RepresentativesAssigner final : public Assigner {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(share_, params.number("share", {.fallback = 0.25, .min = 0, .max = 1}));
    SATCHEL_TRY_ASSIGN(alternate_, params.flag("alternate", false));
    return {};
  }
  void assign(std::span<const float> scores, std::size_t budget,
              std::span<std::uint8_t> tiers) const override {
    const AssignedLane alone{.scores = scores, .budget = budget, .tiers = tiers};
    assign_layer({&alone, 1});
  }
  void assign_layer(std::span<const AssignedLane> lanes) const override {
    if (lanes.empty()) return;
    const std::vector<std::size_t> candidates = in_order(lanes);
    std::vector<float> raised;
    for (const AssignedLane& lane : lanes) {
      // Above all others: what is left of the budget then goes to the best by score, one more for
      // each representative that is among these anyway.
      raised.assign(lane.scores.begin(), lane.scores.end());
      for (const std::size_t token : chosen(candidates, n_representatives(lane)))
        if (is_there(raised[token])) raised[token] = kNeverEvict;
      std::fill(lane.tiers.begin(), lane.tiers.end(), kGone);
      for (const std::size_t token : best(raised, lane.budget)) lane.tiers[token] = 0;
    }
  }

 private:
  static bool is_there(float score) { return score > kNotThere; }  // NaN is not

  // What is wanted of the lane's budget.
  std::size_t n_representatives(const AssignedLane& lane) const {
    const auto n_protected =
        static_cast<std::size_t>(std::count(lane.scores.begin(), lane.scores.end(), kNeverEvict));
    const std::size_t free = lane.budget - std::min(lane.budget, n_protected);
    return static_cast<std::size_t>(std::llround(share_ * static_cast<double>(free)));
  }

  // Tokens that some lane holds and would let go for want of score, nearest to the anchor first.
  std::vector<std::size_t> in_order(std::span<const AssignedLane> lanes) const {
    const std::size_t n_tokens = lanes.front().scores.size();
    std::vector<std::size_t> distance(n_tokens);
    std::vector<bool> may_go(n_tokens), is_in(n_tokens);
    const auto mark = [&](const AssignedLane& lane, std::size_t n_best) {
      std::fill(is_in.begin(), is_in.end(), false);
      for (const std::size_t token : best(lane.scores, n_best))
        is_in[token] = is_there(lane.scores[token]);
    };
    for (std::size_t c = 0; c < lanes.size(); ++c) {
      mark(lanes[c], lanes[c].budget - n_representatives(lanes[c]));
      for (std::size_t t = 0; t < n_tokens; ++t)
        if (is_there(lanes[c].scores[t]) && !is_in[t]) may_go[t] = true;
      mark(lanes[c], lanes[c].budget);
      const bool anchor = anchor_bit(lanes[c], c);
      for (std::size_t t = 0; t < n_tokens; ++t) distance[t] += is_in[t] != anchor ? 1u : 0u;
    }
    std::vector<std::size_t> order;
    for (std::size_t t = 0; t < n_tokens; ++t)
      if (may_go[t]) order.push_back(t);
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return distance[a] < distance[b]; });
    return order;
  }

  bool anchor_bit(const AssignedLane& lane, std::size_t index) const {
    if (alternate_) return index % 2 == 1;
    const auto n_held =
        static_cast<std::size_t>(std::count_if(lane.scores.begin(), lane.scores.end(), is_there));
    return 2 * std::min(lane.budget, n_held) > n_held;
  }

  // The middle of each of n equal parts; all where there are no more than n.
  static std::vector<std::size_t> chosen(std::span<const std::size_t> candidates, std::size_t n) {
    n = std::min(n, candidates.size());
    std::vector<std::size_t> tokens;
    for (std::size_t i = 0; i < n; ++i)
      tokens.push_back(candidates[(2 * i + 1) * candidates.size() / (2 * n)]);
    return tokens;
  }

  double share_ = 0.25;
  bool alternate_ = false;
};
}  // namespace

extern const StageMaker assigners_representatives =
    stage_of<RepresentativesAssigner>("arXiv:2503.00022");
}  // namespace satchel::kvcache
