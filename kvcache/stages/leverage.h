// Approximate leverage scores of a lane's keys: how far each is from the span of the others.
//   formula x Φ (Φᵀ S Φ + jitter · 1)⁻¹ Φᵀ xᵀ, x = k - mean before RoPE, S = Σ xᵀ x over the keys
//           that count, Φ [head_dim, sketch] Gaussian with variance 1 / sketch
//   source  arXiv:2507.08143 (Compactor) section 3; the Cholesky factor and its jitter of 0.01,
//           tenfold where it fails, after NVIDIA's kvpress
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kvcache/stages/moments.h"
#include "kvcache/stages/span_rows.h"

namespace satchel::kvcache {

// The sketch matrix [head_dim, sketch] of a KV head, the same in every run; sketch 0: identity.
std::vector<double> gaussian_sketch(std::size_t head, std::size_t head_dim, std::size_t sketch);

//   keys    of the keys that count, before RoPE
//   sketch  columns; 0: none
//   out     scores [n_tokens of the lane], >= 0, also for keys that do not count
Result<void> leverage(kernels::Backend& backend, const SpanLane& lane, const Moments& keys,
                      std::size_t sketch, std::span<float> scores);

}  // namespace satchel::kvcache
