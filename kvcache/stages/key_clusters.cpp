#include "kvcache/stages/key_clusters.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/base/assert.h"

namespace satchel::kvcache {

KeyClusters::KeyClusters(const KeyPart& part, std::size_t n_clusters, Alike alike,
                         std::size_t n_rounds)
    : part_(part), n_(part.k.size() / part.head_dim), n_clusters_(n_clusters) {
  SATCHEL_ASSERT(n_ > 0 && n_ <= of_.size() && n_clusters > 0 && n_clusters <= kMost);
  factors_.fill(1);
  if (alike == Alike::in_direction) shorten();
  start();
  for (std::size_t i = 0; i < n_rounds && round(); ++i) {
  }
}

std::array<double, KeyClusters::kMost> KeyClusters::means(std::size_t channel) const {
  return centres(channel, false);
}

// A key of length 0 stays as it is.
void KeyClusters::shorten() {
  for (std::size_t t = 0; t < n_; ++t) {
    double squares = 0;
    for (std::size_t c = 0; c < part_.width; ++c) squares += key(t, c) * key(t, c);
    if (squares > 0) factors_[t] = 1 / std::sqrt(squares);
  }
}

std::size_t KeyClusters::most_central() const {
  std::array<double, kernels::kPageTokens> distances = {};
  for (std::size_t c = 0; c < part_.width; ++c) {
    double mean = 0;
    for (std::size_t t = 0; t < n_; ++t) mean += point(t, c);
    mean /= static_cast<double>(n_);
    for (std::size_t t = 0; t < n_; ++t)
      distances[t] += (point(t, c) - mean) * (point(t, c) - mean);
  }
  const auto end = distances.begin() + static_cast<std::ptrdiff_t>(n_);
  return static_cast<std::size_t>(std::min_element(distances.begin(), end) - distances.begin());
}

void KeyClusters::start() {
  std::array<double, kernels::kPageTokens> gaps;
  gaps.fill(std::numeric_limits<double>::infinity());
  const auto end = gaps.begin() + static_cast<std::ptrdiff_t>(n_);
  std::size_t centre = most_central();
  for (std::size_t cluster = 0; cluster < n_clusters_; ++cluster) {
    for (std::size_t t = 0; t < n_; ++t) {
      double gap = 0;
      for (std::size_t c = 0; c < part_.width; ++c)
        gap += (point(t, c) - point(centre, c)) * (point(t, c) - point(centre, c));
      if (gap >= gaps[t]) continue;
      gaps[t] = gap;
      of_[t] = static_cast<std::uint8_t>(cluster);
    }
    centre = static_cast<std::size_t>(std::max_element(gaps.begin(), end) - gaps.begin());
  }
  for (std::size_t t = 0; t < n_; ++t) ++sizes_[of_[t]];
}

// Each key goes to the nearest centre; false if all are there already. Channel by channel, so that
// centres need no room.
bool KeyClusters::round() {
  std::array<Centres, kernels::kPageTokens> distances = {};
  for (std::size_t c = 0; c < part_.width; ++c) {
    const Centres centre = centres(c, true);
    for (std::size_t t = 0; t < n_; ++t)
      for (std::size_t cluster = 0; cluster < n_clusters_; ++cluster)
        distances[t][cluster] += (point(t, c) - centre[cluster]) * (point(t, c) - centre[cluster]);
  }
  bool has_changed = false;
  const std::array<std::size_t, kMost> sizes = sizes_;
  for (std::size_t t = 0; t < n_; ++t) {
    std::size_t best = of_[t];
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t cluster = 0; cluster < n_clusters_; ++cluster)
      if (sizes[cluster] > 0 && distances[t][cluster] < least)
        least = distances[t][cluster], best = cluster;
    if (best == of_[t]) continue;
    has_changed = true;
    --sizes_[of_[t]];
    ++sizes_[best];
    of_[t] = static_cast<std::uint8_t>(best);
  }
  return has_changed;
}

KeyClusters::Centres KeyClusters::centres(std::size_t channel, bool as_points) const {
  Centres sums = {};
  for (std::size_t t = 0; t < n_; ++t)
    sums[of_[t]] += as_points ? point(t, channel) : key(t, channel);
  for (std::size_t cluster = 0; cluster < n_clusters_; ++cluster)
    if (sizes_[cluster] > 0) sums[cluster] /= static_cast<double>(sizes_[cluster]);
  return sums;
}

}  // namespace satchel::kvcache
