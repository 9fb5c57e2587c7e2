// Scores a token by how dissimilar its key is to the other keys of its text: similar keys are
// redundant.
//   formula 1 - cos(k_j, m), m = the mean over the text of k / |k|; k after RoPE
//   needs   the exact keys of the text at the end of prefill
//   cost    two reads of K
//   source  arXiv:2504.15364 (KeyDiff) section 3
//   differs one decision per text over all of its keys, where the paper decides block by block over
//           the keys that are still held; + 1, so that no score is negative and lanes can share by
//           scores; a key of length 0 has cosine 0
#include <cmath>
#include <vector>

#include "kvcache/stages/span_rows.h"

namespace satchel::kvcache {
namespace {

double dot(std::span<const float> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t c = 0; c < a.size(); ++c) sum += static_cast<double>(a[c]) * b[c];
  return sum;
}

class KeydiffScorer final : public SpanScorer {
  Result<void> score_lane(kernels::Backend& backend, const SpanLane& lane,
                          std::span<float> scores) const override {
    // The mean's length is no matter: a cosine follows.
    std::vector<double> mean(lane.k.head_dim);
    SATCHEL_TRY(each_row(backend, lane.k, [&](std::size_t, std::span<const float> key) {
      const double of_key = std::sqrt(squared_length(key));
      for (std::size_t c = 0; of_key > 0 && c < key.size(); ++c)
        mean[c] += static_cast<double>(key[c]) / of_key;
    }));
    double of_mean = 0;
    for (const double x : mean) of_mean += x * x;
    of_mean = std::sqrt(of_mean);
    return each_row(backend, lane.k, [&](std::size_t t, std::span<const float> key) {
      const double lengths = std::sqrt(squared_length(key)) * of_mean;
      scores[t] = static_cast<float>(1 - (lengths > 0 ? dot(key, mean) / lengths : 0));
    });
  }
};
}  // namespace

extern const StageMaker scorers_keydiff = stage_of<KeydiffScorer>("arXiv:2504.15364");
}  // namespace satchel::kvcache
