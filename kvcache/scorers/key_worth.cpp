// Scores a token by its key alone: by what KVzip's second readings of a few texts have taught of the
// keys of its lane (KeyWorth), so that the second reading need not be made. As long as that is not
// known, and in lanes that keep much if wanted, by echo.
//   formula exp(w0 + Σ k · (a + b · k)), k before RoPE
//   params  block      queries that look back together where echo scores (2048)
//           echo_from  lanes of which it is known beforehand that they keep this share of a text, or
//                      more, are scored by echo (1: none)
//   later   long after it was read a text is scored by its keys in all lanes: its queries are gone
//   needs   keys before RoPE; CacheShape::lane_shares with KeyWorth, which `satchel profile` and idle
//           time make
//   cost    as many multiplications as a key has values, twice
//   source  arXiv:2601.07891 (KVzap)
//   differs KVzap trains a linear map or small network from the hidden state to the log score of each
//           KV head, once per model, on a large corpus; here the key itself and its squares are the
//           features, fitted by ridge regression in seconds (docs/recipes.md has what that costs)
#include <algorithm>
#include <cmath>

#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {

class KeyWorthScorer final : public Scorer {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(block_, params.count("block", {.fallback = 2048u, .min = 64, .max = 8192}));
    SATCHEL_TRY_ASSIGN(echo_from_, params.number("echo_from", {.fallback = 1, .min = 0, .max = 1}));
    return {};
  }
  ScorerWants wants(const LaneShares* known) const override {
    const bool knows = known != nullptr && known->worth;
    const bool echoes = !knows || echo_from_ < 1;
    return {.reading = true, .block_tokens = echoes ? block_ : 0, .pre_rope = knows};
  }
  Result<void> observe(kernels::Backend& backend, const Observation& seen,
                       std::span<const ObservedLane> lanes) const override {
    const bool is_block = seen.block_q != nullptr;
    std::vector<ObservedLane> mine;
    for (const ObservedLane& lane : lanes)
      if (is_block ==
          (lane.worth.empty() || (echo_from_ < 1 && lane.keep && *lane.keep >= echo_from_)))
        mine.push_back(lane);
    if (mine.empty()) return {};
    return is_block ? echo_lanes(backend, seen, mine, kernels::Sees::all)
                    : key_worth_lanes(backend, seen, mine);
  }
  bool scores_held() const override { return true; }
  bool score_held(const HeldKeys& keys, std::span<float> scores) const override {
    if (keys.worth.empty()) return false;
    const std::size_t d = keys.head_dim;
    const std::span<const float> a = keys.worth.subspan(1, d), b = keys.worth.subspan(1 + d, d);
    for (std::size_t t = 0; t < scores.size(); ++t) {
      double sum = keys.worth[0];
      for (std::size_t c = 0; c < d; ++c) {
        const double k = keys.k[t * d + c];
        sum += k * (a[c] + b[c] * k);
      }
      // As the backends' key_worth() has it.
      sum = std::isnan(sum) ? -kernels::kKeyWorthMost : sum;
      scores[t] = static_cast<float>(
          std::exp(std::clamp(sum, -kernels::kKeyWorthMost, kernels::kKeyWorthMost)));
    }
    return true;
  }

 private:
  std::size_t block_ = 2048;
  double echo_from_ = 1;
};
}  // namespace

extern const StageEntry scorers_key_worth{.kind = StageKind::scorer,
                                          .name = "key_worth",
                                          .source = "arXiv:2601.07891",
                                          .make = make_stage<KeyWorthScorer>};
}  // namespace satchel::kvcache
