// Scores a token by the expected attention of future queries. They are modelled as normally
// distributed like those of the text, so that the mean of exp(q·k) has a closed form.
//   formula e_j = s · u·m + s² / 2 · u·C u, u = R̄ᵀ k_j, m and C mean and covariance of a head's
//           queries before RoPE, R̄ the mean of RoPE's rotations over the places to come, s the
//           attention scale; score = (mean over the lane's heads of softmax_j(e) + epsilon) · |v_j|
//   params  future      future positions, from the end of the text on (512)
//           sinks       first tokens of the conversation: no part of the statistics nor of the
//                       softmax (4)
//           covariance  false: C = 0 (true)
//           epsilon     weight of a value's norm for a token without attention (0); 0.01 if heads
//                       compete
//           values      whether the norm of values counts (true)
//   needs   queries before RoPE of every chunk; mean and covariance of each head, kept while a
//           layer is read
//   cost    head_dim² / 2 multiplications of each query, head_dim² of each key and query head
//   source  arXiv:2510.00636 (Expected Attention)
//   differs the statistics are those of the text that is read, not of all that was said before;
//           places to come begin where the text ends, where NVIDIA's kvpress counts from the length
//           of what it is given; sinks get the largest score
#include <algorithm>
#include <cmath>
#include <vector>

#include "kvcache/shape/rope_pairs.h"
#include "kvcache/stages/moments.h"
#include "kvcache/stages/span_rows.h"

namespace satchel::kvcache {
namespace {

// The mean of RoPE's rotations over places to come, transposed, pair by pair.
class MeanRotation {
 public:
  MeanRotation(const LayerShape& layer, std::size_t first, std::size_t n)
      : halves_(layer.rope_pairs == kernels::RopePairs::halves) {
    for (const double frequency : layer.inverse_frequency) {
      double cosine = 0, sine = 0;
      for (std::size_t t = first; t < first + n; ++t) {
        cosine += std::cos(static_cast<double>(t) * frequency);
        sine += std::sin(static_cast<double>(t) * frequency);
      }
      cosines_.push_back(cosine / static_cast<double>(n));
      sines_.push_back(sine / static_cast<double>(n));
    }
  }
  void back(std::span<float> key) const {
    for (std::size_t i = 0; i < cosines_.size(); ++i) {
      float& a = key[halves_ ? i : 2 * i];
      float& b = key[halves_ ? i + cosines_.size() : 2 * i + 1];
      const auto x = static_cast<double>(a), y = static_cast<double>(b);
      a = static_cast<float>(cosines_[i] * x + sines_[i] * y);
      b = static_cast<float>(cosines_[i] * y - sines_[i] * x);
    }
  }

 private:
  bool halves_;
  std::vector<double> cosines_, sines_;
};

class ExpectedAttentionScorer final : public Scorer {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(future_, params.count("future", {.fallback = 512, .min = 1, .max = 65536}));
    SATCHEL_TRY_ASSIGN(sinks_, params.count("sinks", {.fallback = 4, .min = 0, .max = 1024}));
    SATCHEL_TRY_ASSIGN(covariance_, params.flag("covariance", true));
    SATCHEL_TRY_ASSIGN(epsilon_, params.number("epsilon", {.fallback = 0, .min = 0, .max = 1}));
    SATCHEL_TRY_ASSIGN(values_, params.flag("values", true));
    return {};
  }
  ScorerRequirements requirements(const HeadBudgets*) const override {
    return {.prefill = true, .pre_rope = true};
  }
  std::size_t state_floats(const LayerShape& layer, std::size_t) const override {
    return moments_floats(layer.n_heads, layer.head_dim);
  }

  Result<void> observe(kernels::Backend& backend, const Observation& seen,
                       std::span<const ObservedLane> lanes) const override {
    const LayerShape& layer = seen.layer;
    const auto first = static_cast<std::size_t>(seen.positions.front());
    SATCHEL_TRY_ASSIGN(
        const std::vector<double> state,
        add_moments(backend,
                    {.x = seen.pre_rope_q,
                     .first = std::min(seen.batch.n_tokens, sinks_ - std::min(sinks_, first)),
                     .end = seen.batch.n_tokens,
                     .n_vectors = layer.n_heads,
                     .d = layer.head_dim},
                    seen.state));
    if (first + seen.batch.n_tokens != seen.span_end) return {};
    const MeanRotation rotation(layer, seen.span_end, future_);
    return score_spans(backend, seen, lanes, [&](const SpanLane& lane, std::span<float> scores) {
      return score_lane(backend, lane, state, rotation, scores);
    });
  }

 private:
  Result<void> score_lane(kernels::Backend& backend, const SpanLane& lane,
                          std::span<const double> state, const MeanRotation& rotation,
                          std::span<float> scores) const {
    const std::size_t n = lane.k.n, n_group = lane.lane.n_group, skip = lane.n_first(sinks_);
    std::vector<double> logits(n_group * n);
    std::vector<float> key(lane.k.head_dim);
    SATCHEL_TRY(each_row(backend, lane.k, [&](std::size_t t, std::span<const float> row) {
      std::copy(row.begin(), row.end(), key.begin());
      rotation.back(key);
      for (std::size_t h = 0; h < n_group; ++h)
        logits[h * n + t] = logit(moments_of(state, lane.lane.first_head + h, key.size()), key,
                                  static_cast<double>(lane.seen.layer.attention_scale));
    }));
    for (std::size_t h = 0; h < n_group; ++h)
      add_softmax(std::span(logits).subspan(h * n, n).subspan(skip), static_cast<double>(n_group),
                  scores.subspan(skip));
    if (values_)
      SATCHEL_TRY(each_row(backend, lane.v, [&](std::size_t t, std::span<const float> value) {
        scores[t] = static_cast<float>((static_cast<double>(scores[t]) + epsilon_) *
                                       std::sqrt(squared_length(value)));
      }));
    if (skip < n)
      std::fill_n(
          scores.begin(), skip,
          *std::max_element(scores.begin() + static_cast<std::ptrdiff_t>(skip), scores.end()));
    return {};
  }

  double logit(const Moments& queries, std::span<const float> key, double scale) const {
    double linear = 0, square = 0;
    for (std::size_t i = 0; i < key.size(); ++i)
      linear += queries.mean[i] * static_cast<double>(key[i]);
    for (std::size_t i = 0; covariance_ && queries.n > 0 && i < key.size(); ++i) {
      // In four sums of a fixed order: quick, and the same everywhere.
      double sums[4] = {};
      const double* row = queries.scatter.data() + i * key.size();
      for (std::size_t j = 0; j < key.size(); ++j)
        sums[j % 4] += row[j] * static_cast<double>(key[j]);
      square +=
          ((sums[0] + sums[1]) + (sums[2] + sums[3])) * static_cast<double>(key[i]) / queries.n;
    }
    return scale * linear + scale * scale / 2 * square;
  }

  static void add_softmax(std::span<const double> logits, double n_heads, std::span<float> scores) {
    if (logits.empty()) return;
    const double most = *std::max_element(logits.begin(), logits.end());
    double sum = 0;
    for (const double x : logits) sum += std::exp(x - most);
    for (std::size_t t = 0; t < logits.size(); ++t)
      scores[t] += static_cast<float>(std::exp(logits[t] - most) / sum / n_heads);
  }

  std::size_t future_ = 512, sinks_ = 4;
  bool covariance_ = true, values_ = true;
  double epsilon_ = 0;
};
}  // namespace

extern const StageMaker scorers_expected_attention =
    stage_of<ExpectedAttentionScorer>("arXiv:2510.00636");
}  // namespace satchel::kvcache
