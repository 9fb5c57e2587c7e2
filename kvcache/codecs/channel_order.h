// The channels of a page's operand in falling order of mean square; ties go to the lower channel. A
// page that needs the order stores it, one byte per channel.
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

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

}  // namespace satchel::kvcache
