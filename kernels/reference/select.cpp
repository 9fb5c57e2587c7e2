// The choice of tokens to keep, and moving rows about.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/base/assert.h"
#include "kernels/reference/cache_ops.h"

namespace satchel::kernels::reference {

// A full sort: the plainest way to say which ones.
Result<void> select(const float* scores, std::size_t n_scores, std::size_t keep,
                    std::int32_t* indices) {
  SATCHEL_ASSERT(keep <= n_scores);
  const auto rank = [scores](std::int32_t i) {
    return std::isnan(scores[i]) ? -std::numeric_limits<float>::infinity() : scores[i];
  };
  std::vector<std::int32_t> order(n_scores);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t a, std::int32_t b) { return rank(a) > rank(b); });
  order.resize(keep);
  std::sort(order.begin(), order.end());
  std::copy(order.begin(), order.end(), indices);
  return {};
}

Result<void> gather(const std::byte* from, const std::int32_t* indices, std::size_t n_rows,
                    std::size_t row_bytes, std::byte* to) {
  for (std::size_t i = 0; i < n_rows; ++i) {
    SATCHEL_ASSERT(indices[i] >= 0);
    const std::size_t row = static_cast<std::size_t>(indices[i]);
    std::memcpy(to + i * row_bytes, from + row * row_bytes, row_bytes);
  }
  return {};
}

}  // namespace satchel::kernels::reference
