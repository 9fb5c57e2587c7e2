#include "kvcache/stages/ranking.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "kernels/base/assert.h"

namespace satchel::kvcache {
namespace {

float rank(float score) {
  return std::isnan(score) ? -std::numeric_limits<float>::infinity() : score;
}

}  // namespace

std::vector<std::size_t> best(std::span<const float> scores, std::size_t n) {
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (n >= order.size()) return order;
  std::nth_element(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(n), order.end(),
                   [&](std::size_t a, std::size_t b) {
                     const float x = rank(scores[a]), y = rank(scores[b]);
                     return x != y ? x > y : a < b;
                   });
  order.resize(n);
  std::sort(order.begin(), order.end());
  return order;
}

void best_of_all(std::span<const std::span<const float>> lists, std::size_t n,
                 std::span<std::size_t> counts) {
  SATCHEL_ASSERT(lists.size() == counts.size());
  struct Entry {
    float score;
    std::uint32_t list, index;
  };
  std::vector<Entry> all;
  for (std::size_t list = 0; list < lists.size(); ++list)
    for (std::size_t i = 0; i < lists[list].size(); ++i)
      if (const float score = rank(lists[list][i]);
          score != -std::numeric_limits<float>::infinity())
        all.push_back({score, static_cast<std::uint32_t>(list), static_cast<std::uint32_t>(i)});
  std::fill(counts.begin(), counts.end(), std::size_t{0});
  n = std::min(n, all.size());
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n), all.end(),
                   [](const Entry& a, const Entry& b) {
                     if (a.score != b.score) return a.score > b.score;
                     return a.list != b.list ? a.list < b.list : a.index < b.index;
                   });
  for (std::size_t i = 0; i < n; ++i) ++counts[all[i].list];
}

}  // namespace satchel::kvcache
