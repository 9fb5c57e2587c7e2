// Merges every dropped token into the retained token before or after it. The tokens between two
// retained ones are divided where neighbouring keys are least similar.
//   params  epsilon  a token is reached over neighbours whose keys have more than this cosine (-1)
//           heavy    part of the kept tokens: those with the largest scores of the scorer, so many,
//                    carry nothing (0)
//           counts   whether a merged token weighs in attention as many as it stands for: ln of
//                    their number is added to its logit (true)
//   formula g_i = exp(-|k_p - k_i|² / 2σ²) of a dropped token i and its carrier p, g_p = 1,
//           σ² = mean of |k_p - k_i|² over the set, p among it, 1 if zero;
//           k_p' = Σ g_i·k_i / Σ g_i over the set, v alike with the same weights
//   cost    n · head_dim of a lane; its K and V in fp32; counts: four bytes a kept token
//   source  arXiv:2407.08454 (KVMerger) section 3
//   differs protected tokens carry nothing: those at the ends are exact, and have no counts; σ is
//           ours, and so are counts
#include <algorithm>
#include <cmath>
#include <vector>

#include "kvcache/stages/merge_rows.h"
#include "kvcache/stages/ranking.h"

namespace satchel::kvcache {
namespace {

class NeighboursMerger final : public Merger {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(epsilon_, params.number("epsilon", {.fallback = -1, .min = -1, .max = 1}));
    SATCHEL_TRY_ASSIGN(heavy_, params.number("heavy", {.fallback = 0, .min = 0, .max = 1}));
    SATCHEL_TRY_ASSIGN(counts_, params.flag("counts", true));
    return {};
  }
  bool needs_counts() const override { return counts_; }

  Result<void> merge(kernels::Backend& backend, const MergeLane& lane) const override {
    SATCHEL_TRY_ASSIGN(LaneRows keys, download_rows(backend, lane.k, lane));
    std::vector<MergedInto> merged = sets(lane, keys);
    weigh(keys, merged);
    return merge_into(backend, lane, merged, std::vector<float>(lane.n_tokens, 1), keys);
  }

 private:
  std::vector<bool> carriers(const MergeLane& lane) const {
    std::vector<bool> carries(lane.n_tokens);
    const std::vector<std::size_t> kept = kept_tokens(lane);
    std::vector<float> scores;
    for (const std::size_t t : kept) {
      carries[t] = lane.scores[t] != kNeverEvict && lane.scores[t] != kNotThere;
      scores.push_back(lane.unfiltered[t]);
    }
    const double n_heavy = heavy_ * static_cast<double>(kept.size());
    for (const std::size_t i : best(scores, static_cast<std::size_t>(n_heavy)))
      carries[kept[i]] = false;
    return carries;
  }

  // Sources of a carrier stand side by side.
  std::vector<MergedInto> sets(const MergeLane& lane, const LaneRows& keys) const {
    const std::vector<bool> carries = carriers(lane);
    std::vector<float> links(lane.n_tokens);  // of a token and the one behind it
    for (std::size_t t = 0; t + 1 < lane.n_tokens; ++t)
      links[t] = cosine(keys.row(t), keys.row(t + 1));
    std::vector<MergedInto> merged;
    for (std::size_t first = 0, end = 0; first < lane.n_tokens; first = end + 1) {
      for (end = first; end < lane.n_tokens && is_dropped(lane, end);) ++end;
      const bool before = first > 0 && carries[first - 1];
      const bool behind = end < lane.n_tokens && carries[end];
      if (first == end || (!before && !behind)) continue;
      part({.first = first, .end = end, .before = before, .behind = behind}, links, merged);
    }
    return merged;
  }

  // Dropped tokens, and whether the one before them and the one behind them carry.
  struct Gap {
    std::size_t first = 0, end = 0;
    bool before = false, behind = false;
  };
  void part(const Gap& gap, std::span<const float> links, std::vector<MergedInto>& merged) const {
    std::size_t cut = gap.before ? gap.end : gap.first;  // from here on they go to the one behind
    if (gap.before && gap.behind) {
      const auto from = links.begin() + static_cast<std::ptrdiff_t>(gap.first - 1);
      const auto to = links.begin() + static_cast<std::ptrdiff_t>(gap.end);
      cut = gap.first + static_cast<std::size_t>(std::min_element(from, to) - from);
    }
    const auto reaches = [&](std::size_t t) { return static_cast<double>(links[t]) > epsilon_; };
    for (std::size_t t = gap.first; t < cut && reaches(t - 1); ++t)
      merged.push_back({.source = t, .carrier = gap.first - 1});
    std::size_t reached = gap.end;
    while (reached > cut && reaches(reached - 1)) --reached;
    for (std::size_t t = reached; t < gap.end; ++t)
      merged.push_back({.source = t, .carrier = gap.end});
  }

  void weigh(const LaneRows& keys, std::span<MergedInto> merged) const {
    for (std::size_t begin = 0, end = 0; begin < merged.size(); begin = end) {
      const std::size_t carrier = merged[begin].carrier;
      float sum = 0;
      for (end = begin; end < merged.size() && merged[end].carrier == carrier; ++end) {
        const auto pivot = keys.row(carrier), key = keys.row(merged[end].source);
        float squares = 0;
        for (std::size_t c = 0; c < key.size(); ++c)
          squares += (pivot[c] - key[c]) * (pivot[c] - key[c]);
        sum += merged[end].weight = squares;
      }
      const float spread = sum > 0 ? sum / static_cast<float>(end - begin + 1) : 1;
      for (MergedInto& each : merged.subspan(begin, end - begin))
        each.weight = std::exp(-each.weight / (2 * spread));
    }
  }

  double epsilon_ = -1, heavy_ = 0;
  bool counts_ = true;
};
}  // namespace

extern const StageMaker mergers_neighbours = stage_of<NeighboursMerger>("arXiv:2407.08454");
}  // namespace satchel::kvcache
