// Spreads a dropped token's value over the retained tokens that follow it; its key is lost. The
// more attention it received, compared with the newest tokens, the more of its value.
//   params  carriers   how many kept tokens share a value (32)
//           per_query  scores are sums over a text's queries, compared as means over those that saw
//                      the token (true); false: compared as they are
//   formula p_i = clamp(a_i / mean a_r, 0, 1), a: the scores before any filter, r: the kept tokens
//           behind the last dropped one; v_c += p_i · v_i / carriers for the next kept tokens c
//   needs   scores that are attention: attention_sum, or attention_window with per_query false
//   cost    dropped · carriers · head_dim additions of a lane; its V in fp32
//   source  CaM (ICML 2024), openreview.net/forum?id=LCTmppB165; the authors' settings for LLaMA
//   differs p_i is a factor, where the paper draws by it whether the whole value is spread: the
//           same expectation, no chance; once for a text, where the paper spreads at each step;
//           beside the newest after the authors' code, where NVIDIA's kvpress compares with the
//           carriers
#include <algorithm>
#include <vector>

#include "kvcache/stages/merge_rows.h"

namespace satchel::kvcache {
namespace {

constexpr float kHalfMost = 65504;  // values grow where much is spread: what is stored stays finite

class SpreadValuesMerger final : public Merger {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(carriers_,
                       params.count("carriers", {.fallback = 32, .min = 1, .max = 4096}));
    SATCHEL_TRY_ASSIGN(per_query_, params.flag("per_query", true));
    return {};
  }

  Result<void> merge(kernels::Backend& backend, const MergeLane& lane) const override {
    const std::vector<std::size_t> kept = kept_tokens(lane);
    if (kept.empty()) return {};
    const double recent = mean_of_recent(lane);
    SATCHEL_TRY_ASSIGN(LaneRows values, download_rows(backend, lane.v, lane));
    for (std::size_t t = 0; t < lane.n_tokens; ++t) {
      if (!is_dropped(lane, t)) continue;
      const double looked_at = attention(lane, t);
      if (looked_at <= 0) continue;
      const double part = recent > 0 ? std::min(looked_at / recent, 1.0) : 1;
      spread(kept, t, static_cast<float>(part / static_cast<double>(carriers_)), values);
    }
    return upload_rows(backend, values, lane.v);
  }

 private:
  double attention(const MergeLane& lane, std::size_t t) const {
    const double n_saw = per_query_ ? static_cast<double>(lane.n_tokens - t) : 1;
    return static_cast<double>(lane.unfiltered[t]) / n_saw;
  }
  // 0: there are none.
  double mean_of_recent(const MergeLane& lane) const {
    double sum = 0, n = 0;
    for (std::size_t t = lane.n_tokens; t > 0 && lane.tiers[t - 1] != kGone; --t, ++n)
      sum += attention(lane, t - 1);
    return n > 0 ? sum / n : 0;
  }
  void spread(std::span<const std::size_t> kept, std::size_t t, float part,
              LaneRows& values) const {
    auto carrier = std::lower_bound(kept.begin(), kept.end(), t);
    for (std::size_t n = 0; n < carriers_ && carrier != kept.end(); ++n, ++carrier) {
      const std::span<const float> from = values.row(t);
      const std::span<float> to = values.row(*carrier);
      for (std::size_t i = 0; i < to.size(); ++i)
        to[i] = std::clamp(to[i] + part * from[i], -kHalfMost, kHalfMost);
    }
  }

  std::size_t carriers_ = 32;
  bool per_query_ = true;
};
}  // namespace

extern const StageMaker mergers_spread_values =
    stage_of<SpreadValuesMerger>("CaM (ICML 2024), openreview LCTmppB165");
}  // namespace satchel::kvcache
