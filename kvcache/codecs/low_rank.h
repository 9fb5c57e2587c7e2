// factorise: a low-rank approximation of a page's values, tokens · channelsᵀ, by block power
// iteration from hashed signs. The columns of `tokens` are orthonormal; with enough rounds both
// factors span the largest singular vectors.
//   source  arXiv:2403.05527 (GEAR), section 3
//   differs orthonormalised in every round, not in the last only
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "kvcache/codecs/hashed_sign.h"

namespace satchel::kvcache {

// [n, rank], column by column; a column that depends on those before becomes 0.
inline void orthonormalise(std::vector<double>& m, std::size_t rank) {
  const std::size_t n = m.size() / rank;
  for (std::size_t j = 0; j < rank; ++j) {
    double before = 0, after = 0;
    for (std::size_t i = 0; i < n; ++i) before += m[i * rank + j] * m[i * rank + j];
    for (std::size_t other = 0; other < j; ++other) {
      double along = 0;
      for (std::size_t i = 0; i < n; ++i) along += m[i * rank + j] * m[i * rank + other];
      for (std::size_t i = 0; i < n; ++i) m[i * rank + j] -= along * m[i * rank + other];
    }
    for (std::size_t i = 0; i < n; ++i) after += m[i * rank + j] * m[i * rank + j];
    const double norm = after > 1e-20 * before ? std::sqrt(after) : 0;
    for (std::size_t i = 0; i < n; ++i) m[i * rank + j] = norm > 0 ? m[i * rank + j] / norm : 0;
  }
}

struct LowRank {
  std::size_t rank = 0;
  std::vector<double> tokens, channels;  // [n_tokens, rank], [head_dim, rank]
};
// x [n_tokens, head_dim], both above 0; rank may be more than either: columns of zeros.
inline LowRank factorise(std::span<const float> x, std::size_t head_dim, std::size_t rank,
                         std::size_t n_rounds) {
  const std::size_t d = head_dim, n = x.size() / head_dim;
  LowRank out{.rank = rank,
              .tokens = std::vector<double>(n * rank),
              .channels = std::vector<double>(d * rank)};
  for (std::size_t i = 0; i < out.channels.size(); ++i) out.channels[i] = hashed_sign(i);
  for (std::size_t round = 0; round < n_rounds; ++round) {
    orthonormalise(out.channels, rank);
    std::fill(out.tokens.begin(), out.tokens.end(), 0.0);
    for (std::size_t t = 0; t < n; ++t)
      for (std::size_t c = 0; c < d; ++c)
        for (std::size_t r = 0; r < rank; ++r)
          out.tokens[t * rank + r] +=
              static_cast<double>(x[t * d + c]) * out.channels[c * rank + r];
    orthonormalise(out.tokens, rank);
    std::fill(out.channels.begin(), out.channels.end(), 0.0);
    for (std::size_t t = 0; t < n; ++t)
      for (std::size_t c = 0; c < d; ++c)
        for (std::size_t r = 0; r < rank; ++r)
          out.channels[c * rank + r] +=
              static_cast<double>(x[t * d + c]) * out.tokens[t * rank + r];
  }
  return out;
}

}  // namespace satchel::kvcache
