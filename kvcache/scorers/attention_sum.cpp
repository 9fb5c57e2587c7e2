// Scores a token by the attention it received from all queries: the column sum of the attention
// matrix, without materialising it.
//   params  decoding       whether generated tokens' queries count too (false)
//           half_life      decay in tokens: a query n tokens before the end of its text counts
//                          2^(-n / half_life); 0: all queries count equally (0)
//           layer_shared   one score for all lanes of a layer: the mean over its query heads
//                          (false)
//   needs   queries and LSE of every chunk, and of every step where decoding
//   cost    one more Q·Kᵀ (Backend::score); with a half-life that of its last 13.3 half-lives,
//           before which a query would count less than 1e-4
//   source  arXiv:2306.14048 (H2O), arXiv:2411.18077 section 3.3 (two passes); half_life:
//           arXiv:2407.20485 (A2SF), whose forgetting factor is 2^(-1 / half_life); layer_shared:
//           arXiv:2407.18121 (Elastic Cache)
//   differs mean over the query heads of a lane, which the papers (one KV head per query head) need
//           not say; what fades does so towards the end of the text that is read, once and for all
#include <cmath>
#include <vector>

#include "kvcache/stages/row_weights.h"
#include "kvcache/stages/share.h"
#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {

constexpr double kLeastWeight = 1e-4;

class AttentionSumScorer final : public Scorer {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(decoding_, params.flag("decoding", false));
    SATCHEL_TRY_ASSIGN(half_life_,
                       params.number("half_life", {.fallback = 0, .min = 0, .max = 1e6}));
    SATCHEL_TRY_ASSIGN(layer_shared_, params.flag("layer_shared", false));
    if (decoding_ && half_life_ > 0)
      return Error{
          ErrorKind::invalid, "RECIPE",
          "attention_sum: \"half_life\" requires \"decoding\": false, because sums from before "
          "an answer do not decay while it is written."};
    return {};
  }
  ScorerRequirements requirements(const HeadBudgets*) const override {
    return {.prefill = true, .decoding = decoding_};
  }
  std::size_t state_floats(const LayerShape&, std::size_t) const override {
    return half_life_ > 0 ? kWeightRows : 0;
  }
  Result<void> observe(kernels::Backend& backend, const Observation& seen,
                       std::span<const ObservedLane> lanes) const override {
    if (half_life_ <= 0) return score_lanes(backend, seen, lanes, {});
    std::vector<float> weights;
    for (const std::int32_t position : seen.positions) {
      const auto age = static_cast<double>(seen.span_end - 1) - static_cast<double>(position);
      const double weight = std::exp2(-age / half_life_);
      if (weight >= kLeastWeight) weights.push_back(static_cast<float>(weight));
    }
    if (weights.empty()) return {};
    return score_weighted(backend, last_rows(seen, weights.size()), lanes, weights);
  }
  Result<void> finish(kernels::Backend&, const LayerShape&, const TokenSpan&,
                      std::span<const ScoredLane> lanes) const override {
    if (layer_shared_) share_scores(lanes);
    return {};
  }

 private:
  bool decoding_ = false, layer_shared_ = false;
  double half_life_ = 0;
};
}  // namespace

extern const StageMaker scorers_attention_sum = stage_of<AttentionSumScorer>(
    "arXiv:2306.14048, arXiv:2411.18077, arXiv:2407.20485, arXiv:2407.18121");
}  // namespace satchel::kvcache
