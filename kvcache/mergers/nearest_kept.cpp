// Adds a dropped token to the kept one whose key points most alike, if it does so more than dropped
// tokens do on average; what resembles nothing goes.
//   formula u_i = max over kept c of cos(k_i, k_c); merged if u_i >= the mean of all u;
//           k_c' = (e·k_c + Σ exp(u_i)·k_i) / (e + Σ exp(u_i)), v alike with the same weights
//   cost    dropped · kept · head_dim multiplications of a lane; its K and V in fp32
//   source  arXiv:2406.13035 (D2O) section 3.3
//   differs the threshold is the mean of this decision, where the paper lets it drift over decode
//           steps (a text is decided once here); the decision is a lane's own, where the authors'
//           code averages over heads; weights after the paper, not the code
#include <cmath>

#include "kvcache/stages/merge_rows.h"

namespace satchel::kvcache {
namespace {

struct Match {
  std::size_t source = 0, carrier = 0;
  float cosine = 0;
};

// Each dropped token's nearest kept one, ties to the lower. `directions` are keys of length 1 or 0.
std::vector<Match> nearest(const LaneRows& directions, const MergeLane& lane) {
  const std::vector<std::size_t> kept = kept_tokens(lane);
  std::vector<Match> matches;
  if (kept.empty()) return matches;
  for (std::size_t t = 0; t < lane.n_tokens; ++t) {
    if (!is_dropped(lane, t)) continue;
    Match match{.source = t, .carrier = kept.front(), .cosine = -2};
    for (const std::size_t c : kept)
      if (const float cosine = dot(directions.row(t), directions.row(c)); cosine > match.cosine)
        match.carrier = c, match.cosine = cosine;
    matches.push_back(match);
  }
  return matches;
}

// rows[carrier] += weight · rows[source] for all matches, then divided by the sum of weights.
void blend(std::span<const Match> matches, std::span<const float> weight_sums, LaneRows& rows) {
  constexpr float kOwn = 2.718281828f;  // exp(1): what a token is to itself
  for (std::size_t t = 0; t < weight_sums.size(); ++t)
    if (weight_sums[t] > 0)
      for (float& x : rows.row(t)) x *= kOwn;
  for (const Match& match : matches) {
    const std::span<const float> from = rows.row(match.source);
    const std::span<float> to = rows.row(match.carrier);
    const float weight = std::exp(match.cosine);
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += weight * from[i];
  }
  for (std::size_t t = 0; t < weight_sums.size(); ++t)
    if (weight_sums[t] > 0)
      for (float& x : rows.row(t)) x /= kOwn + weight_sums[t];
}

class NearestKeptMerger final : public Merger {
 public:
  Result<void> merge(kernels::Backend& backend, const MergeLane& lane) const override {
    SATCHEL_TRY_ASSIGN(LaneRows keys, download_rows(backend, lane.k, lane));
    std::vector<Match> matches = nearest(directions_of(keys), lane);
    double sum = 0;
    for (const Match& match : matches) sum += static_cast<double>(match.cosine);
    // A millionth less: equal tokens must not fall below their own mean by a rounding.
    const double threshold = sum / static_cast<double>(matches.size()) - 1e-6;
    std::erase_if(matches, [threshold](const Match& match) {
      return static_cast<double>(match.cosine) < threshold;
    });
    if (matches.empty()) return {};
    std::vector<float> weight_sums(lane.n_tokens);
    for (const Match& match : matches) {
      weight_sums[match.carrier] += std::exp(match.cosine);
      if (!lane.counts.empty()) lane.counts[match.carrier] += lane.counts[match.source];
    }
    SATCHEL_TRY_ASSIGN(LaneRows values, download_rows(backend, lane.v, lane));
    blend(matches, weight_sums, keys);
    blend(matches, weight_sums, values);
    SATCHEL_TRY(upload_rows(backend, keys, lane.k));
    return upload_rows(backend, values, lane.v);
  }
};
}  // namespace

extern const StageEntry mergers_nearest_kept{.kind = StageKind::merger,
                                             .name = "nearest_kept",
                                             .source = "arXiv:2406.13035",
                                             .make = make_stage<NearestKeptMerger>};
}  // namespace satchel::kvcache
