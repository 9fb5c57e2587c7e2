// Means with their standard errors. Questions about one text share its luck: the text is what was
// drawn, so k questions about it count as one draw (a cluster), not as k.
//   source  Liang & Zeger, Biometrika 73 (1986); for evaluations of language models
//           arXiv:2411.00640, section 2.2
#pragma once

#include <cstddef>
#include <optional>
#include <span>

namespace satchel::app {

struct ClusterSum {
  double n = 0, sum = 0;  // questions, and what they add up to
};
struct Estimate {
  double n = 0;
  std::size_t n_clusters = 0;
  double mean = 0;  // sum of sums / sum of n; 0 of nothing
  // None where the clusters say nothing about it: fewer than two, or all alike ("all right").
  std::optional<double> se;
};
// Mean of a ratio m = Σ sum / Σ n; se² = C / (C − 1) · Σ (sum − m·n)² / (Σ n)², C clusters. For
// clusters of one size this is the deviation of their means divided by √C.
Estimate clustered(std::span<const ClusterSum> clusters);

}  // namespace satchel::app
