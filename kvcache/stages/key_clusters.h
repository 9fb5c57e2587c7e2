// KeyClusters: k-means of a page's keys, without chance and without taking memory, as pages are
// noted while decoding. The first centre is the key nearest to the mean, each further one the key
// farthest from those before, which finds what is alone; then a fixed number of rounds, or fewer
// where none changes. Ties go to the lower index. A cluster that loses its last key stays empty.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/contract/page_layout.h"

namespace satchel::kvcache {

// Channels first … first + width - 1 of k [n_tokens, head_dim], 1 to kPageTokens tokens.
struct KeyPart {
  std::span<const float> k;
  std::size_t head_dim = 0, first = 0, width = 0;
};

class KeyClusters {
 public:
  static constexpr std::size_t kMost = 32;
  enum class Alike { near, in_direction };  // in_direction: keys count at length 1
  KeyClusters(const KeyPart& part, std::size_t n_clusters, Alike alike, std::size_t n_rounds);

  std::size_t of(std::size_t t) const { return of_[t]; }
  std::size_t size(std::size_t cluster) const { return sizes_[cluster]; }
  // Of the clusters' keys, as long as they are; 0 of an empty one.
  std::array<double, kMost> means(std::size_t channel) const;

 private:
  using Centres = std::array<double, kMost>;  // one channel of each
  double key(std::size_t t, std::size_t c) const {
    return static_cast<double>(part_.k[t * part_.head_dim + part_.first + c]);
  }
  double point(std::size_t t, std::size_t c) const { return key(t, c) * factors_[t]; }
  void shorten();
  std::size_t most_central() const;
  void start();
  bool round();
  Centres centres(std::size_t channel, bool as_points) const;

  KeyPart part_;
  std::size_t n_ = 0, n_clusters_ = 0;
  std::array<double, kernels::kPageTokens> factors_ = {};
  std::array<std::uint8_t, kernels::kPageTokens> of_ = {};
  std::array<std::size_t, kMost> sizes_ = {};
};

}  // namespace satchel::kvcache
