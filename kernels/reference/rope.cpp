#include <cmath>

#include "kernels/base/assert.h"
#include "kernels/reference/backend_reference.h"

namespace satchel::kernels::reference {

// Phases in float64: at position 100,000 an fp32 phase is off by 0.004 radians already.
Result<void> ReferenceBackend::make_rotation(const Batch& batch, const RopeTable& table,
                                             float* rotation) {
  for (std::size_t t = 0; t < batch.n_tokens; ++t) {
    for (const double frequency : table.inverse_frequency) {
      const double phase = static_cast<double>(batch.positions[t]) * frequency;
      *rotation++ = static_cast<float>(std::cos(phase));
      *rotation++ = static_cast<float>(std::sin(phase));
    }
  }
  return {};
}

Result<void> ReferenceBackend::rope(const RopeArgs& args) {
  const std::size_t n_pairs = args.n_rotated / 2;
  SATCHEL_ASSERT(2 * n_pairs <= args.head_dim);
  const bool adjacent = args.pairs == RopePairs::adjacent;
  const std::size_t n_kv_heads = args.k == nullptr ? 0 : args.n_kv_heads;
  for (std::size_t t = 0; t < args.n_tokens; ++t) {
    for (std::size_t h = 0; h < args.n_heads + n_kv_heads; ++h) {
      float* head = h < args.n_heads ? args.q + (t * args.n_heads + h) * args.head_dim
                                     : args.k + (t * n_kv_heads + h - args.n_heads) * args.head_dim;
      for (std::size_t i = 0; i < n_pairs; ++i) {
        float& first = head[adjacent ? 2 * i : i];
        float& second = head[adjacent ? 2 * i + 1 : i + n_pairs];
        const double cosine = static_cast<double>(args.rotation[2 * (t * n_pairs + i)]);
        const double sine = static_cast<double>(args.rotation[2 * (t * n_pairs + i) + 1]);
        const double a = static_cast<double>(first);
        const double b = static_cast<double>(second);
        first = static_cast<float>(a * cosine - b * sine);
        second = static_cast<float>(a * sine + b * cosine);
      }
    }
  }
  return {};
}

}  // namespace satchel::kernels::reference
