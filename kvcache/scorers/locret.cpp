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

#include "kvcache/stages/token_rows.h"

namespace satchel::kvcache {
namespace {

Error no_locret_weights(const std::optional<Error>& damage = {}) {
  return no_selector_weights(
      "The scorer \"locret\"", SelectorMethod::locret,
      "The recipes \"keydiff\" and \"expected-attention\" need no such weights.", damage);
}

float silu(float x) {
  return static_cast<float>(double{x} / (1 + std::exp(-double{x})));
}

class LocretScorer final : public Scorer {
 public:
  ScorerRequirements requirements(const HeadBudgets*) const override {
    return {.prefill = true, .pre_rope = true};
  }
  Result<void> check(const CacheShape& shape) const override {
    if (shape.selectors.of(SelectorMethod::locret) != nullptr) return {};
    return no_locret_weights(shape.selectors.damage(SelectorMethod::locret));
  }
  Result<void> observe(kernels::Backend& backend, const Observation& seen,
                       std::span<const ObservedLane> lanes) const override {
    const auto* taught = seen.selectors.get<SelectorWeights::Locret>();
    if (taught == nullptr) return no_locret_weights();
    const auto begin = static_cast<std::size_t>(seen.positions.front()) - seen.span_first;
    const std::size_t n = seen.batch.n_tokens;
    std::vector<float> hidden(taught->fc1.n_rows()), scores(lanes.size() * n);
    SATCHEL_TRY(each_token(backend, seen, [&](std::size_t t, std::span<const float> row) {
      for (std::size_t i = 0; i < hidden.size(); ++i)
        hidden[i] = silu(dot_product(taught->fc1.row(i), row.data(), row.size()));
      for (std::size_t i = 0; i < lanes.size(); ++i)
        scores[i * n + t] = score(*taught, lanes[i], hidden);
    }));
    for (std::size_t i = 0; i < lanes.size(); ++i)
      SATCHEL_TRY(upload(backend, lanes[i].scores + begin, std::span(scores).subspan(i * n, n)));
    return {};
  }

 private:
  static float score(const SelectorWeights::Locret& taught, const ObservedLane& lane,
                     std::span<const float> hidden) {
    const std::size_t head = lane.first_head / lane.n_group;
    const float s = dot_product(taught.fc2.row(head), hidden.data(), hidden.size());
    if (std::isnan(s)) return 0;
    constexpr float kMost = 1e30f;  // chosen: no network that is of use says more
    const float held = std::clamp(s, -kMost, kMost);
    return held >= 0 ? 1 + held : 1 / (1 - held);
  }
};
}  // namespace

extern const StageMaker scorers_locret = stage_of<LocretScorer>("arXiv:2410.01805");
}  // namespace satchel::kvcache
