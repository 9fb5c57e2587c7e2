// Scores a token by a small network, trained once per model to predict its attention from future
// answers: Locret's retaining heads. The score depends on the token only, so it holds for any later
// question.
//   formula s = fc2 · silu(fc1 · [q k v]), all heads of the layer side by side, q and k before
//           RoPE; one output a KV head; score = 1 + s, or 1 / (1 - s) where s is less than 0
//   needs   weights trained for the model (SelectorWeights): training/locret makes them, a small
//           model's in minutes
//   cost    hidden · (n_heads + 2 n_kv_heads) · head_dim multiply-adds a token and layer, on the
//           host and on one thread: nothing much for the bundled model, but 6.3 million a token and
//           layer for one of 8 B with the paper's hidden layer of 1,024
//   source  arXiv:2410.01805 (Locret)
//   differs the score is the paper's bent so that none is below 0, where tokens stand that nothing
//           was said of, in the same order; values as the cache keeps them, in fp16. The paper
//           evicts chunk by chunk while it reads, and spares the newest 2,500 entries
//           ("stabilisers") until the last; here all of a text is there when it is decided, and
//           none need sparing
#include <algorithm>
#include <cmath>
#include <vector>

#include "kvcache/stages/stage.h"

namespace satchel::kvcache {
namespace {

constexpr std::size_t kAtOnce = 128;  // tokens in main memory; chosen

Error no_weights() {
  return {
      ErrorKind::not_found, "SELECTOR_WEIGHTS",
      "The scorer \"locret\" needs weights trained for this model; only those of the bundled model "
      "come with Satchel. Train them with training/locret (training/README.md). \"satchel info "
      "MODEL\" says where to put the file, or what is wrong with it. The recipes \"keydiff\" and "
      "\"expected-attention\" need no such weights."};
}

// Sixteen sums side by side, which a compiler keeps in registers; added up in one order, always.
float dot(const float* a, const float* b, std::size_t n) {
  constexpr std::size_t kSums = 16;
  float sums[kSums] = {};
  std::size_t i = 0;
  for (; i + kSums <= n; i += kSums)
    for (std::size_t s = 0; s < kSums; ++s) sums[s] += a[i + s] * b[i + s];
  for (; i < n; ++i) sums[i % kSums] += a[i] * b[i];
  for (std::size_t half = kSums / 2; half > 0; half /= 2)
    for (std::size_t s = 0; s < half; ++s) sums[s] += sums[s + half];
  return sums[0];
}

float silu(float x) {
  return static_cast<float>(double{x} / (1 + std::exp(-double{x})));
}

// [q k v] of some tokens of a chunk, in main memory.
class TokenRows {
 public:
  explicit TokenRows(const Observation& seen)
      : seen_(seen),
        q_width_(seen.layer.n_heads * seen.layer.head_dim),
        kv_width_(seen.layer.n_kv_heads * seen.layer.head_dim) {}

  Result<void> load(kernels::Backend& backend, std::size_t first, std::size_t n) {
    const std::size_t d = seen_.layer.head_dim;
    q_.resize(n * q_width_);
    k_.resize(n * kv_width_);
    v_.resize(n * kv_width_);
    SATCHEL_TRY(download(backend, q_, seen_.pre_rope_q + first * q_width_));
    SATCHEL_TRY(download(backend, k_, seen_.pre_rope_k + first * kv_width_));
    for (std::size_t head = 0; head < seen_.layer.n_kv_heads; ++head) {
      const std::span<Half> of_head = std::span(v_).subspan(head * n * d, n * d);
      SATCHEL_TRY(download(backend, of_head, seen_.chunk[head].v + first * d));
    }
    n_ = n;
    return {};
  }
  //   out  row [q_width + 2 · kv_width]
  void row(std::size_t t, std::span<float> row) const {
    const std::size_t d = seen_.layer.head_dim;
    std::copy_n(q_.data() + t * q_width_, q_width_, row.data());
    std::copy_n(k_.data() + t * kv_width_, kv_width_, row.data() + q_width_);
    for (std::size_t i = 0; i < kv_width_; ++i)
      row[q_width_ + kv_width_ + i] = half_to_float(v_[(i / d * n_ + t) * d + i % d]);
  }

 private:
  const Observation& seen_;
  std::size_t q_width_, kv_width_, n_ = 0;
  std::vector<float> q_ = {}, k_ = {};  // [n, width]
  std::vector<Half> v_ = {};            // [n_kv_heads, n, head_dim]
};

class LocretScorer final : public Scorer {
 public:
  ScorerRequirements requirements(const HeadBudgets*) const override {
    return {.prefill = true, .pre_rope = true};
  }
  Result<void> check(const CacheShape& shape) const override {
    return shape.selector == nullptr ? Result<void>(no_weights()) : Result<void>();
  }
  Result<void> observe(kernels::Backend& backend, const Observation& seen,
                       std::span<const ObservedLane> lanes) const override {
    if (seen.selector == nullptr) return no_weights();
    const SelectorWeights::Layer& taught = *seen.selector;
    const auto begin = static_cast<std::size_t>(seen.positions.front()) - seen.span_first;
    TokenRows rows(seen);
    std::vector<float> row(taught.n_in), hidden(taught.n_hidden), scores;
    for (std::size_t first = 0; first < seen.batch.n_tokens; first += kAtOnce) {
      const std::size_t n = std::min(kAtOnce, seen.batch.n_tokens - first);
      SATCHEL_TRY(rows.load(backend, first, n));
      scores.resize(lanes.size() * n);
      for (std::size_t t = 0; t < n; ++t) {
        rows.row(t, row);
        for (std::size_t i = 0; i < taught.n_hidden; ++i)
          hidden[i] = silu(dot(taught.fc1.data() + i * taught.n_in, row.data(), taught.n_in));
        for (std::size_t i = 0; i < lanes.size(); ++i)
          scores[i * n + t] = score(taught, lanes[i], hidden);
      }
      for (std::size_t i = 0; i < lanes.size(); ++i)
        SATCHEL_TRY(
            upload(backend, lanes[i].scores + begin + first, std::span(scores).subspan(i * n, n)));
    }
    return {};
  }

 private:
  static float score(const SelectorWeights::Layer& taught, const ObservedLane& lane,
                     std::span<const float> hidden) {
    const std::size_t head = lane.first_head / lane.n_group;
    const float s = dot(taught.fc2.data() + head * taught.n_hidden, hidden.data(), hidden.size());
    if (std::isnan(s)) return 0;
    constexpr float kMost = 1e30f;  // chosen: no network that is of use says more
    const float held = std::clamp(s, -kMost, kMost);
    return held >= 0 ? 1 + held : 1 / (1 - held);
  }
};
}  // namespace

extern const StageMaker scorers_locret = stage_of<LocretScorer>("arXiv:2410.01805");
}  // namespace satchel::kvcache
