#include <cmath>

#include "kernels/base/assert.h"
#include "kernels/reference/model_ops.h"

namespace satchel::kernels::reference {

// Phases in float64: at position 100,000 an fp32 phase is off by 0.004 radians already.
Result<void> rope(const RopeArgs& args) {
  const std::size_t n_pairs = args.inverse_frequency.size();
  SATCHEL_ASSERT(args.positions.size() == args.n_tokens && 2 * n_pairs <= args.head_dim);
  const bool adjacent = args.pairs == RopePairs::adjacent;
  for (std::size_t t = 0; t < args.n_tokens; ++t) {
    for (std::size_t h = 0; h < args.n_heads; ++h) {
      float* head = args.x + (t * args.n_heads + h) * args.head_dim;
      for (std::size_t i = 0; i < n_pairs; ++i) {
        float& first = head[adjacent ? 2 * i : i];
        float& second = head[adjacent ? 2 * i + 1 : i + n_pairs];
        const double phase = static_cast<double>(args.positions[t]) * args.inverse_frequency[i];
        const double a = static_cast<double>(first);
        const double b = static_cast<double>(second);
        first = static_cast<float>(a * std::cos(phase) - b * std::sin(phase));
        second = static_cast<float>(a * std::sin(phase) + b * std::cos(phase));
      }
    }
  }
  return {};
}

}  // namespace satchel::kernels::reference
