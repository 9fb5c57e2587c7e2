// The channels of a page's operand in falling order of mean square; ties go to the lower channel. A
// page that needs the order stores it, one byte per channel.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <vector>

#include "kvcache/codecs/plane_values.h"

namespace satchel::kvcache {

// scores [n]: indices, largest first.
inline std::vector<std::size_t> order_of(const std::vector<double>& scores) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  return order;
}

// x [n_tokens, head_dim].
inline std::vector<std::size_t> loudest_channels(const float* x, std::size_t n_tokens,
                                                 std::size_t head_dim) {
  std::vector<double> squares(head_dim);
  for (std::size_t t = 0; t < n_tokens; ++t)
    for (std::size_t c = 0; c < head_dim; ++c) {
      const auto value = static_cast<double>(x[t * head_dim + c]);
      squares[c] += value * value;
    }
  return order_of(squares);
}

// x with its channels loudest first, in an order that is stored in the page's kept_channels. As it
// is where the layout has no such plane.
inline std::vector<float> sort_channels(const OperandLayout& layout, const float* x,
                                        std::size_t n_tokens, std::size_t head_dim,
                                        std::byte* page) {
  std::vector<float> sorted(x, x + n_tokens * head_dim);
  const Plane* places = layout.find(PlaneKind::kept_channels);
  if (places == nullptr) return sorted;
  const std::vector<std::size_t> order = loudest_channels(x, n_tokens, head_dim);
  for (std::size_t i = 0; i < head_dim; ++i)
    put_code(page, *places, i, static_cast<unsigned>(order[i]));
  for (std::size_t i = 0; i < sorted.size(); ++i)
    sorted[i] = x[i / head_dim * head_dim + order[i % head_dim]];
  return sorted;
}

// Undoes it in place.
inline void unsort_channels(const OperandLayout& layout, const std::byte* page,
                            std::size_t n_tokens, std::size_t head_dim, float* x) {
  const Plane* places = layout.find(PlaneKind::kept_channels);
  std::array<float, kernels::kHeadDimMax> sorted;
  for (std::size_t t = 0; places != nullptr && t < n_tokens; ++t) {
    float* row = x + t * head_dim;
    std::copy_n(row, head_dim, sorted.begin());
    std::fill_n(row, head_dim, 0.0f);  // an order from outside may leave a channel out
    for (std::size_t i = 0; i < head_dim; ++i)
      if (const std::size_t c = code_at(page, *places, i); c < head_dim) row[c] = sorted[i];
  }
}

}  // namespace satchel::kvcache
