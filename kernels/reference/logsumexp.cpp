// The normaliser of a softmax, key by key, in float64: what logsumexp() must compute.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/reference/backend_reference.h"
#include "kernels/reference/lane_keys.h"

namespace satchel::kernels::reference {
namespace {

// log(exp(a) + exp(b))
double log_add(double a, double b) {
  const double most = std::max(a, b);
  if (most == -std::numeric_limits<double>::infinity()) return most;
  return most + std::log(std::exp(a - most) + std::exp(b - most));
}

}  // namespace

Result<void> ReferenceBackend::logsumexp(std::span<const LogSumExpArgs> items) {
  for (const LogSumExpArgs& args : items) {
    const LaneQueries& lane = args.lane;
    lane.check();
    const std::size_t n_rows = lane.batch.n_tokens * lane.n_heads;
    std::vector<double> sums(args.lse, args.lse + n_rows);
    for_each_key(lane, [&](const LaneKey& key) {
      for (std::size_t i = 0; i < lane.batch.n_tokens; ++i) {
        if (!can_attend(lane, lane.batch.positions[i], key.position)) continue;
        for (std::size_t h = lane.first_head; h < lane.first_head + lane.n_group; ++h) {
          double& sum = sums[i * lane.n_heads + h];
          sum = log_add(sum, logit(lane, i, h, key));
        }
      }
    });
    for (std::size_t i = 0; i < lane.batch.n_tokens; ++i)
      for (std::size_t h = lane.first_head; h < lane.first_head + lane.n_group; ++h)
        args.lse[i * lane.n_heads + h] = static_cast<float>(sums[i * lane.n_heads + h]);
  }
  return {};
}

}  // namespace satchel::kernels::reference
