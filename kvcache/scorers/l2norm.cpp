// Scores a token by how small its key's norm is: keys with small norms tend to attract attention.
//   formula 1 / (1 + |k|), which ranks as -|k| does; RoPE leaves lengths as they are
//   needs   the exact keys of the text at the end of prefill; later, the keys decoded from the
//           cache
//   cost    one read of K
//   source  arXiv:2406.11430 section 3
//   differs the scale, so that no score is negative; the first layers, which the paper spares, are
//           for the allocator first_layers
#include <cmath>

#include "kvcache/stages/span_rows.h"

namespace satchel::kvcache {
namespace {

float importance(std::span<const float> key) {
  return static_cast<float>(1 / (1 + std::sqrt(squared_length(key))));
}

class L2normScorer final : public SpanScorer {
 public:
  bool scores_held() const override { return true; }
  bool score_held(const HeldKeys& keys, std::span<float> scores) const override {
    for (std::size_t t = 0; t < scores.size(); ++t)
      scores[t] = importance(keys.k.subspan(t * keys.head_dim, keys.head_dim));
    return true;
  }

 private:
  Result<void> score_lane(kernels::Backend& backend, const SpanLane& lane,
                          std::span<float> scores) const override {
    return each_row(backend, lane.k, [&](std::size_t t, std::span<const float> key) {
      scores[t] = importance(key);
    });
  }
};
}  // namespace

extern const StageMaker scorers_l2norm = stage_of<L2normScorer>("arXiv:2406.11430");
}  // namespace satchel::kvcache
