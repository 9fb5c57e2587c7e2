// Scores a token by a gate that was trained to say whether its lane needs it: a small attention
// over the whole text, beside the layer's own.
//   formula per KV head: q' k' v' = Wq x, Wk x, Wv x; a = softmax(q'·k' / sqrt(dim)) v' over all
//           tokens of the text, those behind too; score = sigmoid(Wo [a of all heads] + b), above
//           0; x = [q k v] of the token, before RoPE
//   params  dim     values of a gate's head: the weights' (8)
//   open    the gate is open where the score is 0.5 or more: the filter `threshold` evicts the rest
//   needs   weights trained for the model (SelectorWeights): training/attention-gate makes them, a
//           small model's in minutes; q' k' v' of the text while a layer is read, 12 · n_kv_heads ·
//           dim bytes a token
//   cost    3 · n_kv_heads · dim · (n_heads + 2 n_kv_heads) · head_dim multiply-adds a token and
//           layer, and 2 · n_kv_heads · dim more for each other token of the text, on the host and
//           on one thread: nothing much up to some thousand tokens, but it grows with their square
//   source  arXiv:2410.12876 (Attention-Gate)
//   differs the paper's gate reads the layer's input, of which q, k and v are linear maps; it has a
//           flag for each query head, where a lane serves a group of them; its layers attend by the
//           flags while they read a text, where here a text is read whole and what is closed goes
//           when it has been read, so that it is hidden from what follows only. Generated tokens
//           have no gate and stay. What is read in several spans is as many texts. There is no
//           public code to compare with
#include <algorithm>
#include <cmath>
#include <vector>

#include "kvcache/stages/token_rows.h"

namespace satchel::kvcache {
namespace {

Error no_gate_weights(const std::optional<Error>& damage = {}) {
  return no_selector_weights(
      "The scorer \"attention_gate\"", SelectorMethod::attention_gate,
      "The recipe \"compactor\" also chooses by the text alone, and needs no such weights.",
      damage);
}

class AttentionGateScorer final : public Scorer {
 public:
  Result<void> read(Params& params) {
    SATCHEL_TRY_ASSIGN(dim_, params.count("dim", {.fallback = 8, .min = 1, .max = 1024}));
    return {};
  }
  ScorerRequirements requirements(const HeadBudgets*) const override {
    return {.prefill = true, .pre_rope = true};
  }
  Result<void> check(const CacheShape& shape) const override {
    if (shape.selectors.of(SelectorMethod::attention_gate) == nullptr)
      return no_gate_weights(shape.selectors.damage(SelectorMethod::attention_gate));
    for (std::size_t i = 0; i < shape.n_layers(); ++i) {
      const auto* gate = LayerSelectors(shape.selectors, i).get<SelectorWeights::AttentionGate>();
      if (gate->q.n_rows() != shape.layers[i].n_kv_heads * dim_)
        return Error{ErrorKind::invalid, "SELECTOR_WEIGHTS",
                     "The weights of the scorer \"attention_gate\" have gates of " +
                         std::to_string(gate->q.n_rows() / shape.layers[i].n_kv_heads) +
                         " values, where the recipe says \"dim\": " + std::to_string(dim_) +
                         ". Set \"dim\" to the weights' number, or train others with "
                         "training/attention-gate."};
    }
    return {};
  }
  // q' k' v' of all heads, a row for each token.
  std::size_t state_floats(const LayerShape& layer, std::size_t n_tokens) const override {
    return n_tokens * 3 * layer.n_kv_heads * dim_;
  }

  Result<void> observe(kernels::Backend& backend, const Observation& seen,
                       std::span<const ObservedLane> lanes) const override {
    const auto* gate = seen.selectors.get<SelectorWeights::AttentionGate>();
    if (gate == nullptr) return no_gate_weights();
    const std::size_t width = seen.layer.n_kv_heads * dim_, n = seen.batch.n_tokens;
    const auto begin = static_cast<std::size_t>(seen.positions.front()) - seen.span_first;
    std::vector<float> projected(n * 3 * width);
    SATCHEL_TRY(each_token(backend, seen, [&](std::size_t t, std::span<const float> row) {
      float* to = projected.data() + t * 3 * width;
      for (const auto* weights : {&gate->q, &gate->k, &gate->v})
        for (std::size_t i = 0; i < width; ++i)
          *to++ = dot_product(weights->row(i), row.data(), row.size());
    }));
    SATCHEL_TRY(upload(backend, seen.state + begin * 3 * width, projected));
    const std::size_t n_text = seen.span_end - seen.span_first;
    if (begin + n < n_text) return {};
    projected.resize(n_text * 3 * width);
    SATCHEL_TRY(download(backend, projected, seen.state));
    return score_text(backend, *gate, projected, n_text, lanes);
  }

 private:
  //   projected  [n, 3, n_heads, dim]
  Result<void> score_text(kernels::Backend& backend, const SelectorWeights::AttentionGate& gate,
                          std::span<const float> projected, std::size_t n,
                          std::span<const ObservedLane> lanes) const {
    const std::size_t width = gate.q.n_rows();
    std::vector<float> attended(n * width), scores(n);
    for (std::size_t head = 0; head < width / dim_; ++head) attend(projected, n, head, attended);
    for (const ObservedLane& lane : lanes) {
      const std::size_t head = lane.first_head / lane.n_group;
      for (std::size_t t = 0; t < n; ++t)
        scores[t] = score(dot_product(gate.out.row(head), attended.data() + t * width, width) +
                          gate.bias.values[head]);
      SATCHEL_TRY(upload(backend, lane.scores, scores));
    }
    return {};
  }

  // Fills one head's part of [n, n_heads, dim].
  void attend(std::span<const float> projected, std::size_t n, std::size_t head,
              std::span<float> attended) const {
    const std::size_t width = attended.size() / n;
    std::vector<float> keys(dim_ * n), values(n * dim_), weights(n);  // keys channel by channel
    for (std::size_t t = 0; t < n; ++t) {
      const float* of = projected.data() + t * 3 * width + head * dim_;
      for (std::size_t c = 0; c < dim_; ++c) keys[c * n + t] = of[width + c];
      std::copy_n(of + 2 * width, dim_, values.data() + t * dim_);
    }
    const float scale = 1 / std::sqrt(static_cast<float>(dim_));
    for (std::size_t t = 0; t < n; ++t) {
      const float* query = projected.data() + t * 3 * width + head * dim_;
      std::fill(weights.begin(), weights.end(), 0.0f);
      for (std::size_t c = 0; c < dim_; ++c)
        for (std::size_t j = 0; j < n; ++j) weights[j] += scale * query[c] * keys[c * n + j];
      const float most = *std::max_element(weights.begin(), weights.end());
      double sum = 0;
      float* out = attended.data() + t * width + head * dim_;
      for (std::size_t j = 0; j < n; ++j) {
        const float weight = std::exp(weights[j] - most);
        sum += static_cast<double>(weight);
        for (std::size_t c = 0; c < dim_; ++c) out[c] += weight * values[j * dim_ + c];
      }
      for (std::size_t c = 0; c < dim_; ++c)
        out[c] = static_cast<float>(static_cast<double>(out[c]) / sum);
    }
  }

  // 0 is the score of tokens that no gate has seen.
  static float score(float logit) {
    constexpr double kLeast = 1e-30;  // chosen
    const double open = 1 / (1 + std::exp(-static_cast<double>(logit)));
    return static_cast<float>(open > kLeast ? open : kLeast);  // NaN is not more
  }

  std::size_t dim_ = 8;
};
}  // namespace

extern const StageMaker scorers_attention_gate = stage_of<AttentionGateScorer>("arXiv:2410.12876");
}  // namespace satchel::kvcache
