// Merges the best dropped tokens into the retained token with the most similar key, at any
// position. A token that resembles none of them, and all other dropped tokens, are lost.
//   params  gamma  how many dropped tokens may be added, for each kept one (1)
//           tau    the least cosine; above 1: nothing is added (0.6)
//   formula i goes to c = argmax cos(k_i, k_c) of keys before RoPE, or to none if that is below
//           tau; k_c' = (s_c·k_c + Σ s_i·k_i) / (s_c + Σ s_i) of keys after RoPE, s the scores,
//           none below 0; v alike with the same weights
//   cost    added · kept · head_dim multiplications of a lane; its K and V in fp32
//   source  arXiv:2412.08521 (EMS), evict-then-merge with a zero class
//   differs protected tokens are no centres; the zero class is a threshold, where the paper gives
//           all heads equal shapes; there is no public code to compare with
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "kvcache/shape/rope_pairs.h"
#include "kvcache/stages/merge_rows.h"
#include "kvcache/stages/ranking.h"

namespace satchel::kvcache {
namespace {

class ClassCentresMerger final : public Merger {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(gamma_, params.number("gamma", {.fallback = 1, .min = 0, .max = 1000}));
    SATCHEL_TRY_ASSIGN(tau_, params.number("tau", {.fallback = 0.6, .min = -1, .max = 2}));
    return {};
  }

  Result<void> merge(kernels::Backend& backend, const MergeLane& lane) const override {
    const std::vector<std::size_t> centres = centres_of(lane);
    const std::vector<std::size_t> candidates = candidates_of(lane, centres.size());
    if (centres.empty() || candidates.empty()) return {};
    SATCHEL_TRY_ASSIGN(LaneRows keys, download_rows(backend, lane.k, lane));
    const LaneRows from = directions(lane, keys, candidates), to = directions(lane, keys, centres);
    std::vector<float> weights(lane.n_tokens);
    for (const std::size_t t : centres) weights[t] = std::max(lane.scores[t], 0.0f);
    std::vector<MergedInto> merged;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      std::size_t nearest = 0;
      float most = -2;
      for (std::size_t c = 0; c < centres.size(); ++c)
        if (const float alike = dot(from.row(i), to.row(c)); alike > most)
          most = alike, nearest = c;
      if (static_cast<double>(most) < tau_) continue;
      merged.push_back({.source = candidates[i],
                        .carrier = centres[nearest],
                        .weight = std::max(lane.scores[candidates[i]], 0.0f)});
    }
    return merge_into(backend, lane, merged, weights, keys);
  }

 private:
  static std::vector<std::size_t> centres_of(const MergeLane& lane) {
    std::vector<std::size_t> centres = kept_tokens(lane);
    std::erase_if(centres, [&](std::size_t t) { return !std::isfinite(lane.scores[t]); });
    return centres;
  }
  std::vector<std::size_t> candidates_of(const MergeLane& lane, std::size_t n_centres) const {
    std::vector<std::size_t> dropped;
    std::vector<float> scores;
    for (std::size_t t = 0; t < lane.n_tokens; ++t) {
      if (!is_dropped(lane, t)) continue;
      dropped.push_back(t);
      scores.push_back(lane.scores[t]);
    }
    const double n = std::min(gamma_ * static_cast<double>(n_centres), 1e9);
    std::vector<std::size_t> candidates;
    for (const std::size_t i : best(scores, static_cast<std::size_t>(n)))
      candidates.push_back(dropped[i]);
    return candidates;
  }
  // Of these tokens' keys before RoPE.
  static LaneRows directions(const MergeLane& lane, const LaneRows& keys,
                             std::span<const std::size_t> tokens) {
    LaneRows rows{.head_dim = lane.head_dim, .x = {}};
    for (const std::size_t t : tokens) {
      const std::span<const float> key = keys.row(t);
      rows.x.insert(rows.x.end(), key.begin(), key.end());
      rope_pairs(*lane.layer, -static_cast<double>(lane.first_position + t),
                 std::span(rows.x).last(lane.head_dim));
    }
    return directions_of(std::move(rows));
  }

  double gamma_ = 1, tau_ = 0.6;
};
}  // namespace

extern const StageMaker mergers_class_centres = stage_of<ClassCentresMerger>("arXiv:2412.08521");
}  // namespace satchel::kvcache
