// Scores a token by its key alone, with weights learned from KVzip's scores of a few texts
// (KeyImportance), so that no second pass is needed. Uses echo as long as the model has no weights
// and, optionally, in lanes that keep much.
//   formula exp(w0 + Σ k · (a + b · k)), k before RoPE
//   params  block      queries that attend back together in echo (2048)
//           echo_from  lanes whose budget is known to be at least this share of a text use echo
//                      (1: none)
//           echo_above … or at least so many times the mean budget, whichever is less (1000): the
//                      less stays, the more a lane that keeps little has to choose well
//   later   text from long ago is scored by its keys in all lanes, because its queries are gone
//   needs   keys before RoPE; CacheShape::head_budgets with KeyImportance, which `satchel profile`
//           and idle time make
//   cost    as many multiplications as a key has values, twice
//   source  arXiv:2601.07891 (KVzap)
//   differs KVzap trains a linear map or small network from the hidden state to the log score of
//           each KV head, once per model, on a large corpus; here the key itself and its squares
//           are the features, fitted by ridge regression in seconds (docs/recipes.md has what that
//           costs)
#include <algorithm>
#include <cmath>

#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {

class KeyImportanceScorer final : public Scorer {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(block_, params.count("block", {.fallback = 2048u, .min = 64, .max = 8192}));
    SATCHEL_TRY_ASSIGN(echo_from_, params.number("echo_from", {.fallback = 1, .min = 0, .max = 1}));
    SATCHEL_TRY_ASSIGN(echo_above_,
                       params.number("echo_above", {.fallback = 1000, .min = 0, .max = 1000}));
    return {};
  }
  ScorerRequirements requirements(const HeadBudgets* known) const override {
    const bool knows = known != nullptr && known->importance;
    const bool echoes = !knows || echo_from_ < 1;
    return {.prefill = true, .block_tokens = echoes ? block_ : 0, .pre_rope = knows};
  }
  Result<void> observe(kernels::Backend& backend, const Observation& seen,
                       std::span<const ObservedLane> lanes) const override {
    const bool is_block = seen.block_q != nullptr;
    const double echo_from = std::min(echo_from_, echo_above_ * seen.keep);
    std::vector<ObservedLane> mine;
    for (const ObservedLane& lane : lanes)
      if (is_block ==
          (lane.importance.empty() || (echo_from_ < 1 && lane.keep && *lane.keep >= echo_from)))
        mine.push_back(lane);
    if (mine.empty()) return {};
    return is_block ? echo_lanes(backend, seen, mine, kernels::AttentionMask::full)
                    : key_importance_lanes(backend, seen, mine);
  }
  bool scores_held() const override { return true; }
  bool score_held(const HeldKeys& keys, std::span<float> scores) const override {
    if (keys.importance.empty()) return false;
    const std::size_t d = keys.head_dim;
    const std::span<const float> a = keys.importance.subspan(1, d),
                                 b = keys.importance.subspan(1 + d, d);
    for (std::size_t t = 0; t < scores.size(); ++t) {
      double sum = keys.importance[0];
      for (std::size_t c = 0; c < d; ++c) {
        const double k = keys.k[t * d + c];
        sum += k * (a[c] + b[c] * k);
      }
      // As the backends' key_importance() has it.
      sum = std::isnan(sum) ? -kernels::kKeyImportanceMax : sum;
      scores[t] = static_cast<float>(
          std::exp(std::clamp(sum, -kernels::kKeyImportanceMax, kernels::kKeyImportanceMax)));
    }
    return true;
  }

 private:
  std::size_t block_ = 2048;
  double echo_from_ = 1, echo_above_ = 1000;
};
}  // namespace

extern const StageMaker scorers_key_worth = stage_of<KeyImportanceScorer>("arXiv:2601.07891");
}  // namespace satchel::kvcache
