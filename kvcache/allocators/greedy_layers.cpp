// Distributes the budget over layers so that they retain the most attention together, or each the
// same share of its attention. Lanes of a layer keep the same number.
//   formula w_l: the mean of the layer's lanes' scores, divided by its sum; the tokens with the
//           largest w over all layers are counted by layer. That is what the paper's greedy loop
//           (one token at a time to the layer whose next best adds the most) ends with.
//           equal_mass: each layer's fewest tokens whose w sum to a share of all, the same in every
//           layer; the largest share for which the total suffices, where the paper gives the share
//   params  floor       no layer keeps less than this part of the mean, unless it holds less (0.1)
//           equal_mass  the same share of attention in every layer (false)
//           means       scores are means over the queries that saw a token (filter per_query), and
//                       w is of their sums (false)
//   source  arXiv:2412.05896 (XKV) algorithm 1; equal_mass: arXiv:2410.08584 (ZipVL)
//   differs the floor, ours: a layer with one loud token would be left with nothing
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kvcache/stages/ranking.h"
#include "kvcache/stages/share.h"
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {

// Of one layer, by place in the span: the normalised mean score of the lanes that hold the token.
// Never evicted in any lane: ranks first; in no lane: no candidate.
std::vector<float> layer_weights(std::span<const LaneScores> lanes, bool means) {
  const std::size_t n = lanes.front().size();
  std::vector<float> weights(n, kNotThere);
  double all = 0;
  for (std::size_t t = 0; t < n; ++t) {
    double sum = 0, n_holding = 0;
    for (const LaneScores& lane : lanes) {
      if (lane[t] == kNotThere) continue;
      sum += static_cast<double>(lane[t]);
      ++n_holding;
    }
    if (n_holding == 0) continue;
    const double n_seeing = means ? static_cast<double>(n - t) : 1;
    weights[t] = static_cast<float>(sum / n_holding * n_seeing);
    if (std::isfinite(weights[t])) all += static_cast<double>(weights[t]);
  }
  if (!(all > 0)) return weights;
  for (float& weight : weights)
    if (std::isfinite(weight)) weight = static_cast<float>(static_cast<double>(weight) / all);
  return weights;
}

// From weights to how little of the layer's is before a token where the largest come first: the
// tokens above -s are the fewest that keep the share s.
void rank_by_mass(std::span<float> weights) {
  std::vector<std::size_t> order;
  for (std::size_t t = 0; t < weights.size(); ++t)
    if (std::isfinite(weights[t])) order.push_back(t);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return weights[a] > weights[b]; });
  double before = 0;
  for (const std::size_t t : order) {
    const double weight = static_cast<double>(weights[t]);
    weights[t] = static_cast<float>(-before);
    before += weight;
  }
}

class GreedyLayersAllocator final : public Allocator {
 public:
  Scope scope() const override { return Scope::cache; }
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(floor_, params.number("floor", {.fallback = 0.1, .min = 0, .max = 1}));
    SATCHEL_TRY_ASSIGN(equal_mass_, params.flag("equal_mass", false));
    SATCHEL_TRY_ASSIGN(means_, params.flag("means", false));
    return {};
  }

  void lanes(const TokenSpan& span, std::span<const LaneScores> lanes, std::size_t total,
             std::span<std::size_t> budgets) const override {
    const std::vector<std::size_t> counts = tokens_of_layers(span, lanes, total);
    const std::vector<LaneRange> ranges = lane_ranges(lanes);
    std::vector<double> desired;
    for (std::size_t i = 0; i < lanes.size(); ++i) {
      const std::size_t count = counts[span.layer_of(i)];
      desired.push_back(static_cast<double>(count - std::min(count, ranges[i].least)));
    }
    fit(desired, total - std::min(total, n_least(ranges)));
    share_rest(desired, ranges, total, budgets);
  }

 private:
  // Protected tokens differ from lane to lane (pins of another text): then more is desired than is
  // left.
  static void fit(std::span<double> desired, std::size_t rest) {
    const double all = std::accumulate(desired.begin(), desired.end(), 0.0);
    if (all <= static_cast<double>(rest)) return;
    for (double& each : desired) each *= static_cast<double>(rest) / all;
  }

  // How many tokens each lane of a layer keeps.
  std::vector<std::size_t> tokens_of_layers(const TokenSpan& span,
                                            std::span<const LaneScores> lanes,
                                            std::size_t total) const {
    const std::size_t of_layer = span.n_lanes / span.n_layers;
    std::vector<std::vector<float>> weights;
    for (std::size_t layer = 0; layer < span.n_layers; ++layer) {
      weights.push_back(layer_weights(lanes.subspan(layer * of_layer, of_layer), means_));
      if (equal_mass_) rank_by_mass(weights.back());
    }
    const std::size_t n = total / of_layer;
    const auto floor = static_cast<std::size_t>(
        std::ceil(floor_ * static_cast<double>(n) / static_cast<double>(span.n_layers)));
    for (std::vector<float>& layer : weights)
      for (const std::size_t token : best(layer, floor))
        if (layer[token] != kNotThere) layer[token] = kNeverEvict;
    std::vector<std::size_t> counts(span.n_layers);
    best_of_all(std::vector<std::span<const float>>(weights.begin(), weights.end()), n, counts);
    return counts;
  }

  double floor_ = 0.1;
  bool equal_mass_ = false, means_ = false;
};
}  // namespace

extern const StageMaker allocators_greedy_layers =
    stage_of<GreedyLayersAllocator>("arXiv:2412.05896, arXiv:2410.08584");
}  // namespace satchel::kvcache
