#include "runtime/profile/correlation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "kernels/base/assert.h"

namespace satchel::runtime {
namespace {

std::vector<double> ranks_of(std::span<const float> of) {
  std::vector<float> values(of.begin(), of.end());
  for (float& value : values)
    if (std::isnan(value)) value = -std::numeric_limits<float>::infinity();
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t i = 0, end = 0; i < order.size(); i = end) {
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t j = i; j < end; ++j) ranks[order[j]] = static_cast<double>(i + end - 1) / 2;
  }
  return ranks;
}

}  // namespace

std::optional<double> correlation(std::span<const double> a, std::span<const double> b) {
  SATCHEL_ASSERT(a.size() == b.size());
  const auto n = static_cast<double>(a.size());
  const double mean_a = std::accumulate(a.begin(), a.end(), 0.0) / n;
  const double mean_b = std::accumulate(b.begin(), b.end(), 0.0) / n;
  double ab = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean_a) * (b[i] - mean_b);
    aa += (a[i] - mean_a) * (a[i] - mean_a);
    bb += (b[i] - mean_b) * (b[i] - mean_b);
  }
  if (!(aa > 0 && bb > 0)) return std::nullopt;
  return ab / std::sqrt(aa * bb);
}

double rank_correlation(std::span<const float> a, std::span<const float> b) {
  return correlation(ranks_of(a), ranks_of(b)).value_or(0);
}

}  // namespace satchel::runtime
