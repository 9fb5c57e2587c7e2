#include "kernels/reference/cache_ops.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <vector>

namespace satchel::kernels::reference {

Result<void> store(const StoreArgs& args) {
  constexpr float kMax = 65504;
  for (std::size_t row = 0; row < args.n_rows; ++row)
    for (std::size_t i = 0; i < args.n_values; ++i) {
      const float x = args.from[row * args.from_stride + i];
      args.to[row * args.n_values + i] =
          float_to_half(std::isnan(x) ? 0.0f : std::clamp(x, -kMax, kMax));
    }
  return {};
}

Result<void> select(const float* scores, std::size_t n_scores, std::size_t keep,
                    std::int32_t* indices) {
  SATCHEL_ASSERT(keep <= n_scores);
  const auto key = [&](std::int32_t i) {
    const float score = scores[static_cast<std::size_t>(i)];
    return std::isnan(score) ? -std::numeric_limits<float>::infinity() : score;
  };
  std::vector<std::int32_t> order(n_scores);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t a, std::int32_t b) { return key(a) > key(b); });
  std::sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(keep));
  std::copy_n(order.begin(), keep, indices);
  return {};
}

Result<void> gather(const std::byte* from, const std::int32_t* indices, std::size_t n_rows,
                    std::size_t row_bytes, std::byte* to) {
  for (std::size_t i = 0; i < n_rows; ++i)
    std::memcpy(to + i * row_bytes, from + static_cast<std::size_t>(indices[i]) * row_bytes,
                row_bytes);
  return {};
}

}  // namespace satchel::kernels::reference
