// Scores a token by how short its key is: short keys tend to draw attention, long ones do not.
//   formula 1 / (1 + |k|), which ranks as -|k| does; RoPE leaves lengths as they are
//   needs   the exact keys of the text when all of it has been read; text of long ago as it is held
//   cost    one read of K
//   source  arXiv:2406.11430 section 3
//   differs the scale, so that no score is negative; the first layers, which the paper spares, are for
//           the allocator first_layers
#include <cmath>

#include "kvcache/stages/span_rows.h"

namespace satchel::kvcache {
namespace {

float worth(std::span<const float> key) {
  return static_cast<float>(1 / (1 + std::sqrt(squared_length(key))));
}

class L2normScorer final : public SpanScorer {
 public:
  bool scores_held() const override { return true; }
  bool score_held(const HeldKeys& keys, std::span<float> scores) const override {
    for (std::size_t t = 0; t < scores.size(); ++t)
      scores[t] = worth(keys.k.subspan(t * keys.head_dim, keys.head_dim));
    return true;
  }

 private:
  Result<void> score_lane(kernels::Backend& backend, const SpanLane& lane,
                          std::span<float> scores) const override {
    return each_row(backend, lane.k,
                    [&](std::size_t t, std::span<const float> key) { scores[t] = worth(key); });
  }
};
}  // namespace

extern const StageEntry scorers_l2norm{.kind = StageKind::scorer,
                                       .name = "l2norm",
                                       .source = "arXiv:2406.11430",
                                       .make = make_stage<L2normScorer>};
}  // namespace satchel::kvcache
