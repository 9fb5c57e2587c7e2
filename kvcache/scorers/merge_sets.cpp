// Finds runs of neighbours with similar keys, to be merged. In each run, the token with the most
// attention outranks the others. The number of runs is exactly the budget: scores are the order in
// which runs join, the most similar first.
//   params  set    tokens of a run at most (8)
//           heavy  part of the budget: the tokens with the largest column sums, so many, stand
//                  alone and outrank all (0)
//   formula links of neighbours are taken from the largest cosine of their keys (after RoPE) down;
//           each joins two runs, and while both have no more than `set` tokens together the one of
//           their two heads with the smaller column sum is given away, with the score
//           (1 - cosine) / 2; what is never given away scores 1 + its column sum
//   needs   queries and LSE of every chunk; the keys of the text, a few at a time
//   cost    one more Q·Kᵀ; n · head_dim, and links in order
//   source  arXiv:2407.08454 (KVMerger) section 3
//   differs the threshold of the cosine is where the budget cuts the order, where the paper fixes
//           it and takes what is left; a run that is too long is cut at its weakest links; what a
//           filter protects is not known here and joins runs like the rest: it stays all the same
#include <algorithm>
#include <numeric>
#include <vector>

#include "kvcache/stages/merge_rows.h"
#include "kvcache/stages/ranking.h"
#include "kvcache/stages/span_rows.h"

namespace satchel::kvcache {
namespace {

// Runs of neighbours, of which each has a head.
class Runs {
 public:
  explicit Runs(std::span<const float> sums)
      : sums_(sums), first_(sums.size()), last_(sums.size()), head_(sums.size()) {
    std::iota(first_.begin(), first_.end(), std::size_t{0});
    last_ = head_ = first_;
  }
  // Of the runs on both sides of t and t + 1.
  std::size_t length_with_next(std::size_t t) const { return last_[t + 1] - first_[t] + 1; }
  // Joins them and returns the head that is none any more: ties leave the earlier one.
  std::size_t join_next(std::size_t t) {
    const std::size_t first = first_[t], last = last_[t + 1];
    const std::size_t a = head_[first], b = head_[t + 1];
    const bool first_stays = sums_[a] >= sums_[b];
    last_[first] = last;
    first_[last] = first;
    head_[first] = first_stays ? a : b;
    return first_stays ? b : a;
  }

 private:
  std::span<const float> sums_;
  // Right at the ends of a run: of its last token where it begins, of its first where it ends.
  std::vector<std::size_t> first_, last_, head_;
};

class MergeSetsScorer final : public Scorer {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(set_, params.count("set", {.fallback = 8, .min = 1, .max = 4096}));
    SATCHEL_TRY_ASSIGN(heavy_, params.number("heavy", {.fallback = 0, .min = 0, .max = 1}));
    return {};
  }
  ScorerRequirements requirements(const HeadBudgets*) const override { return {.prefill = true}; }

  Result<void> observe(kernels::Backend& backend, const Observation& seen,
                       std::span<const ObservedLane> lanes) const override {
    SATCHEL_TRY(score_lanes(backend, seen, lanes, {}));
    return score_spans(backend, seen, lanes, [&](const SpanLane& lane, std::span<float> scores) {
      return score_lane(backend, lane, scores);
    });
  }

 private:
  Result<void> score_lane(kernels::Backend& backend, const SpanLane& lane,
                          std::span<float> scores) const {
    std::vector<float> sums(scores.size()), before(lane.k.head_dim);
    SATCHEL_TRY(download(backend, sums, lane.lane.scores));
    std::vector<float> cosines(scores.size());  // with the token behind
    SATCHEL_TRY(each_row(backend, lane.k, [&](std::size_t t, std::span<const float> key) {
      if (t > 0) cosines[t - 1] = cosine(before, key);
      std::copy(key.begin(), key.end(), before.begin());
    }));
    for (std::size_t t = 0; t < scores.size(); ++t) scores[t] = 1 + sums[t];
    Runs runs(sums);
    for (const std::size_t t : links(sums, cosines, lane.lane.keep.value_or(lane.seen.keep))) {
      const bool fits = runs.length_with_next(t) <= set_;
      const std::size_t given_away = runs.join_next(t);  // also where it ends what may grow
      if (fits) scores[given_away] = (1 - cosines[t]) / 2;
    }
    return {};
  }
  // First tokens of the pairs that may join, in that order: of equals the later one first.
  std::vector<std::size_t> links(std::span<const float> sums, std::span<const float> cosines,
                                 double keep) const {
    const double n_heavy = heavy_ * keep * static_cast<double>(sums.size());
    std::vector<bool> is_heavy(sums.size());
    for (const std::size_t t : best(sums, static_cast<std::size_t>(n_heavy))) is_heavy[t] = true;
    std::vector<std::size_t> order;
    for (std::size_t t = 0; t + 1 < sums.size(); ++t)
      if (!is_heavy[t] && !is_heavy[t + 1]) order.push_back(t);
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      return cosines[a] != cosines[b] ? cosines[a] > cosines[b] : a > b;
    });
    return order;
  }

  std::size_t set_ = 8;
  double heavy_ = 0;
};
}  // namespace

extern const StageMaker scorers_merge_sets = stage_of<MergeSetsScorer>("arXiv:2407.08454");
}  // namespace satchel::kvcache
