// Merges a dropped token into the retained token with the most similar key: every dropped token, or
// only those with more than average similarity; the others are lost.
//   params  all      whether every dropped token merges (false)
//           pivotal  a kept token counts for at least half of what it becomes (false)
//   formula u_i = max over kept c of cos(k_i, k_c); merged if u_i >= the mean of all u;
//           k_c' = (e·k_c + Σ exp(u_i)·k_i) / (e + Σ exp(u_i)), v alike with the same weights;
//           pivotal: the mean of k_c and of all (k_c + k_i) / 2
//   cost    dropped · kept · head_dim multiplications of a lane; its K and V in fp32
//   source  arXiv:2406.13035 (D2O) section 3.3; all and pivotal: arXiv:2406.18139 (LOOK-M)
//   differs from D2O: the threshold is the mean of this decision, where the paper lets it drift
//           over decode steps (a text is decided once here); the decision is a lane's own, where
//           the authors' code averages over heads; weights after the paper, not the code
#include <cmath>

#include "kvcache/stages/merge_rows.h"

namespace satchel::kvcache {
namespace {

// Each dropped token with the kept one whose key is most like its own, ties to the lower; the
// weight is their cosine. `directions` are keys of length 1 or 0.
std::vector<MergedInto> nearest(const LaneRows& directions, const MergeLane& lane) {
  const std::vector<std::size_t> kept = kept_tokens(lane);
  std::vector<MergedInto> merged;
  if (kept.empty()) return merged;
  for (std::size_t t = 0; t < lane.n_tokens; ++t) {
    if (!is_dropped(lane, t)) continue;
    MergedInto into{.source = t, .carrier = kept.front(), .weight = -2};
    for (const std::size_t c : kept)
      if (const float cosine = dot(directions.row(t), directions.row(c)); cosine > into.weight)
        into.carrier = c, into.weight = cosine;
    merged.push_back(into);
  }
  return merged;
}

void drop_unlike(std::vector<MergedInto>& merged) {
  double sum = 0;
  for (const MergedInto& each : merged) sum += static_cast<double>(each.weight);
  // A millionth less: equal tokens must not fall below their own mean by a rounding.
  const double threshold = sum / static_cast<double>(merged.size()) - 1e-6;
  std::erase_if(merged, [threshold](const MergedInto& each) {
    return static_cast<double>(each.weight) < threshold;
  });
}

class NearestKeptMerger final : public Merger {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(all_, params.flag("all", false));
    SATCHEL_TRY_ASSIGN(pivotal_, params.flag("pivotal", false));
    return {};
  }

  Result<void> merge(kernels::Backend& backend, const MergeLane& lane) const override {
    SATCHEL_TRY_ASSIGN(LaneRows keys, download_rows(backend, lane.k, lane));
    std::vector<MergedInto> merged = nearest(directions_of(keys), lane);
    if (!all_) drop_unlike(merged);
    constexpr float kOwn = 2.718281828f;  // exp(1): what a token is to itself
    std::vector<float> own(lane.n_tokens, pivotal_ ? 1 : kOwn);
    for (MergedInto& each : merged) {
      each.weight = pivotal_ ? 0.5f : std::exp(each.weight);
      if (pivotal_) own[each.carrier] += 0.5f;  // each half comes with one of the carrier's own
    }
    return merge_into(backend, lane, merged, own, keys);
  }

 private:
  bool all_ = false, pivotal_ = false;
};
}  // namespace

extern const StageMaker mergers_nearest_kept =
    stage_of<NearestKeptMerger>("arXiv:2406.13035, arXiv:2406.18139");
}  // namespace satchel::kvcache
