// Rotates the pairs of one head's query or key by a position, as RoPE does, in float64: what is
// learned from keys is learned as they were before RoPE. Values behind the pairs stay.
//   position  negative: back
//   in, out   x [head_dim]
#pragma once

#include <cmath>
#include <span>

#include "kvcache/shape/cache_shape.h"

namespace satchel::kvcache {

template <class T>
void rope_pairs(const LayerShape& layer, double position, std::span<T> x) {
  const std::size_t n_pairs = layer.inverse_frequency.size();
  const bool halves = layer.rope_pairs == kernels::RopePairs::halves;
  for (std::size_t i = 0; i < n_pairs; ++i) {
    T& a = x[halves ? i : 2 * i];
    T& b = x[halves ? i + n_pairs : 2 * i + 1];
    const double angle = position * layer.inverse_frequency[i];
    const auto before_a = static_cast<double>(a), before_b = static_cast<double>(b);
    a = static_cast<T>(before_a * std::cos(angle) - before_b * std::sin(angle));
    b = static_cast<T>(before_a * std::sin(angle) + before_b * std::cos(angle));
  }
}

}  // namespace satchel::kvcache
