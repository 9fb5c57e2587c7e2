// Running mean and covariance of vectors, kept in a scorer's state (Observation::state). Means and
// sums of squares of the chunks are merged in float64, so that long texts lose no precision.
//   source  Chan, Golub, LeVeque 1979
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "kvcache/stages/stage.h"

namespace satchel::kvcache {

// The moments of one query head or KV head of a layer.
struct Moments {
  double n = 0;
  std::span<const double> mean = {};     // [d]
  std::span<const double> scatter = {};  // [d, d], sum of (x - mean)(x - mean)ᵀ, symmetric
};
inline constexpr std::size_t moments_floats(std::size_t n_vectors, std::size_t d) {
  return n_vectors * (1 + d + d * d) * (sizeof(double) / sizeof(float));
}
inline Moments moments_of(std::span<const double> state, std::size_t vector, std::size_t d) {
  const std::span<const double> own = state.subspan(vector * (1 + d + d * d), 1 + d + d * d);
  return {.n = own[0], .mean = own.subspan(1, d), .scatter = own.subspan(1 + d, d * d)};
}

// Rows [first, end) of a chunk's vectors.
struct ChunkRows {
  const float* x = nullptr;  // [n_tokens, n_vectors, d] in the backend's memory
  std::size_t first = 0, end = 0;
  std::size_t n_vectors = 0, d = 0;
};
// Adds them to the state at `to` in the backend's memory, and returns the new state.
Result<std::vector<double>> add_moments(kernels::Backend& backend, const ChunkRows& rows,
                                        float* to);

}  // namespace satchel::kvcache
