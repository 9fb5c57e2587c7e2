#include "app/eval/measure/chunk_share.h"

#include <algorithm>
#include <cmath>

namespace satchel::eval {
namespace {

// Of all pairs of these chunks, those that stand the other way round; 0 of fewer than two.
double changed_places(std::span<const std::size_t> common,
                      std::span<const std::size_t> behind_now) {
  std::size_t n = 0, n_changed = 0;
  for (std::size_t i = 0; i < common.size(); ++i)
    for (std::size_t j = i + 1; j < common.size(); ++j) {
      ++n;
      if (std::ranges::find(behind_now, common[i]) > std::ranges::find(behind_now, common[j]))
        ++n_changed;
    }
  return n == 0 ? 0 : static_cast<double>(n_changed) / static_cast<double>(n);
}

}  // namespace

double context_impact(const ChunkReading& reading) {
  const auto n = static_cast<double>(reading.n_tokens);
  double outside = 0;
  for (std::size_t i = 0; i < reading.behind.size(); ++i)
    outside += reading.outside[i] / (n * static_cast<double>(reading.n_behind[i]));
  const double inside = reading.inside / (n * n);
  return 1 / (1 + std::exp(-outside / inside));
}

double prefix_overlap(const ChunkReading& reading, std::span<const std::size_t> behind_now) {
  double all = 0, still = 0;
  std::vector<std::size_t> common;
  for (std::size_t i = 0; i < reading.behind.size(); ++i) {
    all += reading.outside[i];
    if (std::ranges::find(behind_now, reading.behind[i]) == behind_now.end()) continue;
    still += reading.outside[i];
    common.push_back(reading.behind[i]);
  }
  return all == 0 ? 0 : still / all * (1 - changed_places(common, behind_now));
}

double reread_share(const ChunkReading& reading, std::span<const std::size_t> behind_now,
                    double alpha) {
  if (std::ranges::equal(reading.behind, behind_now)) return 0;
  return std::min(1.0, alpha * context_impact(reading) * (1 - prefix_overlap(reading, behind_now)));
}

}  // namespace satchel::eval
