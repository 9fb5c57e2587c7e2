#include "app/eval/commands/statistics.h"

#include <cmath>

namespace satchel::app {

Estimate clustered(std::span<const ClusterSum> clusters) {
  Estimate out;
  double sum = 0;
  for (const ClusterSum& each : clusters) {
    out.n += each.n;
    sum += each.sum;
    if (each.n > 0) ++out.n_clusters;
  }
  if (out.n <= 0) return out;
  out.mean = sum / out.n;
  if (out.n_clusters < 2) return out;
  double squares = 0;
  for (const ClusterSum& each : clusters) {
    const double rest = each.sum - out.mean * each.n;
    squares += rest * rest;
  }
  if (squares <= 0) return out;
  const auto n_clusters = static_cast<double>(out.n_clusters);
  out.se = std::sqrt(n_clusters / (n_clusters - 1) * squares) / out.n;
  return out;
}

}  // namespace satchel::app
