// Scores a token by how much attention a lane would lose without it, if the lane kept the simplest
// set that suffices. Sets are nested: sinks; plus the most attended tokens; plus those near the
// query; all tokens. So lanes with a simple set keep little when tokens of several lanes compete.
//   formula score = what the set misses that is just short of the token, its attention being the
//           mean over the text's queries i of the sum of a_ij over j in that set. Where tokens
//           compete by that, all lanes take the cheapest set that misses no more than one
//           threshold: the paper's 1 - T, here whatever fits what may be kept. Inside a set the
//           token goes first that is looked at more, by a part that is too small to reach the next
//           set (kWithin)
//   params  special   number of first tokens of the conversation in every set (4)
//           frequent  share of the text's tokens that counts as most attended, by column sum (0.3)
//           local     how far "near" reaches back from a query, as a share of the text's tokens
//                     (0.3); after prefill the last tokens are near
//   needs   queries and LSE of every chunk; for each token of a layer a number in each lane, and
//           one more
//   cost    one more Q·Kᵀ, in two parts: keys near a query and keys beyond (Backend::score)
//   source  arXiv:2310.01801 (FastGen) section 4
//   differs punctuation is no set, as a cache does not know what tokens say; mean over the query
//           heads of a lane, of which the most demanding would have to decide, as a lane has one
//           set for all; decided once, when the text has been read; what earlier text is looked at
//           is not missed
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "kvcache/stages/ranking.h"
#include "kvcache/stages/span_rows.h"

namespace satchel::kvcache {
namespace {

enum Policy : std::size_t { kSpecial, kFrequent, kLocal, kFull };
constexpr std::size_t kPolicies = 4;

// Of a score, which place inside a set makes at most; two lanes that miss amounts closer than this
// are taken to miss the same.
constexpr double kWithin = 1e-3;

class HeadPoliciesScorer final : public Scorer {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(special_,
                       params.count("special", {.fallback = 4, .min = 0, .max = 1u << 20}));
    SATCHEL_TRY_ASSIGN(frequent_, params.number("frequent", {.fallback = 0.3, .min = 0, .max = 1}));
    SATCHEL_TRY_ASSIGN(local_, params.number("local", {.fallback = 0.3, .min = 0, .max = 1}));
    return {};
  }
  ScorerRequirements requirements(const HeadBudgets*) const override { return {.prefill = true}; }
  // What near queries give each token of each lane; positions of a chunk's queries.
  std::size_t state_floats(const LayerShape& layer, std::size_t n_tokens) const override {
    return (layer.n_kv_heads + 1) * n_tokens;
  }

  Result<void> observe(kernels::Backend& backend, const Observation& seen,
                       std::span<const ObservedLane> lanes) const override {
    const std::size_t window = share_of(seen.span_end - seen.span_first, local_);
    if (window > 0) SATCHEL_TRY(look_near(backend, seen, lanes, window));
    SATCHEL_TRY(look_far(backend, seen, lanes, window));
    return score_spans(backend, seen, lanes, [&](const SpanLane& lane, std::span<float> scores) {
      return score_lane(backend, lane, scores);
    });
  }

 private:
  struct Sums {
    std::vector<float> far, near;  // [n_tokens] attention of queries
    std::size_t n() const { return far.size(); }
    double all(std::size_t t) const {
      return static_cast<double>(far[t]) + static_cast<double>(near[t]);
    }
  };
  static std::size_t share_of(std::size_t n, double share) {
    return static_cast<std::size_t>(std::llround(share * static_cast<double>(n)));
  }

  static Result<void> look_near(kernels::Backend& backend, const Observation& seen,
                                std::span<const ObservedLane> lanes, std::size_t window) {
    LayerShape layer = seen.layer;
    layer.window = window;
    std::vector<ObservedLane> near(lanes.begin(), lanes.end());
    for (ObservedLane& lane : near) lane.scores = state_row(seen, lane);
    const Observation within{.purpose = seen.purpose,
                             .layer = layer,
                             .batch = seen.batch,
                             .positions = seen.positions,
                             .q = seen.q,
                             .lse = seen.lse};
    return score_lanes(backend, within, near, {});
  }

  // A query that stood so much earlier would see just what it has beyond its window.
  static Result<void> look_far(kernels::Backend& backend, const Observation& seen,
                               std::span<const ObservedLane> lanes, std::size_t window) {
    const auto back = static_cast<std::int32_t>(window);
    std::vector<std::int32_t> earlier(seen.positions.begin(), seen.positions.end());
    for (std::int32_t& position : earlier) position -= back;
    if (earlier.back() < static_cast<std::int32_t>(seen.span_first)) return {};
    auto* place = reinterpret_cast<std::int32_t*>(
        seen.state + seen.layer.n_kv_heads * (seen.span_end - seen.span_first));
    SATCHEL_TRY(upload(backend, place, earlier));
    Observation beyond = seen;
    beyond.batch.positions = place;
    beyond.batch.position_min -= back;
    beyond.batch.position_max -= back;
    return score_lanes(backend, beyond, lanes, {});
  }

  Result<void> score_lane(kernels::Backend& backend, const SpanLane& lane,
                          std::span<float> scores) const {
    const std::size_t n = scores.size();
    Sums sums{.far = std::vector<float>(n), .near = std::vector<float>(n)};
    SATCHEL_TRY(download(backend, sums.far, lane.lane.scores));
    SATCHEL_TRY(download(backend, sums.near, state_row(lane.seen, lane.lane)));
    const std::vector<Policy> cheapest = policies(sums, lane.n_first(special_));
    const std::array<double, kPolicies> missed = missed_before(sums, cheapest);
    double mean = 1e-30;  // so that it is above 0
    for (std::size_t t = 0; t < n; ++t) mean += sums.all(t) / static_cast<double>(n);
    for (std::size_t t = 0; t < n; ++t) {
      // Sets one behind the other, and in each from 0 to 1.
      const double place =
          static_cast<double>(kFull - cheapest[t]) + sums.all(t) / (sums.all(t) + mean);
      scores[t] = static_cast<float>(missed[cheapest[t]] + kWithin / kPolicies * place);
    }
    return {};
  }

  // Of each token, the cheapest that has it at the end of the prefill.
  std::vector<Policy> policies(const Sums& sums, std::size_t n_special) const {
    const std::size_t n = sums.n(), n_local = share_of(n, local_);
    std::vector<Policy> cheapest(n, kFull);
    std::fill(cheapest.end() - static_cast<std::ptrdiff_t>(n_local), cheapest.end(), kLocal);
    std::vector<float> all(n);
    for (std::size_t t = 0; t < n; ++t) all[t] = static_cast<float>(sums.all(t));
    for (const std::size_t t : best(all, share_of(n, frequent_))) cheapest[t] = kFrequent;
    std::fill_n(cheapest.begin(), n_special, kSpecial);
    return cheapest;
  }

  // What is missed of a query's attention, 1 being all of it, by the policy before each.
  static std::array<double, kPolicies> missed_before(const Sums& sums,
                                                     std::span<const Policy> cheapest) {
    std::array<double, kPolicies> more = {};  // than the policy before it, of all queries
    for (std::size_t t = 0; t < sums.n(); ++t) {
      const bool always = cheapest[t] <= kFrequent;
      more[always ? cheapest[t] : kLocal] += static_cast<double>(sums.near[t]);
      more[always ? cheapest[t] : kFull] += static_cast<double>(sums.far[t]);
    }
    std::array<double, kPolicies> missed = {};
    double sum = 0;
    for (std::size_t at = kPolicies; at-- > 0;)
      missed[at] = (sum += more[at]) / static_cast<double>(sums.n());
    return missed;
  }

  std::size_t special_ = 4;
  double frequent_ = 0.3, local_ = 0.3;
};
}  // namespace

extern const StageMaker scorers_head_policies = stage_of<HeadPoliciesScorer>("arXiv:2310.01801");
}  // namespace satchel::kvcache
