// Approximate leverage scores of a lane's keys: how far each lies from what the others span.
//   formula x Φ (Φᵀ S Φ + jitter · 1)⁻¹ Φᵀ xᵀ, x = k - mean before RoPE, S = Σ xᵀ x over the keys that
//           count, Φ [head_dim, sketch] of normally distributed numbers with variance 1 / sketch
//   source  arXiv:2507.08143 (Compactor) section 3; the Cholesky factor and its jitter of 0.01, tenfold
//           where it fails, after NVIDIA's kvpress
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kvcache/stages/moments.h"
#include "kvcache/stages/span_rows.h"

namespace satchel::kvcache {

// The sketch [head_dim, sketch] of a KV head, the same on every run; sketch 0: the unit matrix.
std::vector<double> gaussian_sketch(std::size_t head, std::size_t head_dim, std::size_t sketch);

struct LeverageOf {
  Moments keys;            // of those that count, before RoPE
  std::size_t sketch = 0;  // columns; 0: none
};
//   out  scores [n_tokens of the lane], all at least 0; of keys that do not count as well
Result<void> leverage(kernels::Backend& backend, const SpanLane& lane, const LeverageOf& of,
                      std::span<float> scores);

}  // namespace satchel::kvcache
