// What the attention kernels share: the causal mask as a count, and one step of online softmax.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/attend_table.h"
#include "kernels/cpu/simd_inline.h"
#include "kernels/cpu/vector_ops_kernel.h"

namespace satchel::kernels::cpu {
namespace {

// How many of n rising positions are not after `position`: what a query there may see comes first.
SATCHEL_INLINE std::size_t visible_tokens(const std::int32_t* positions, std::size_t n,
                                          std::int32_t position) {
  if (n == 0 || positions[n - 1] <= position) return n;
  std::size_t low = 0, high = n - 1;  // the answer lies in [low, high]
  while (low < high) {
    const std::size_t middle = (low + high) / 2;
    if (positions[middle] <= position)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

template <class V>
struct Softmax {
  using Float = typename V::Float;

  // Turns the first `visible` > 0 of 128 logits into exp(logit - new maximum), the others into 0,
  // and takes them into the row's maximum and total. Returns by what the row's sum of V shrinks.
  SATCHEL_INLINE float step(float* logits, std::size_t visible, float& most, float& total) {
    const Float none = V::broadcast_float(-__builtin_inff());
    Float top = none;
    for (std::size_t t = 0; t < visible; t += V::kLanes)
      top = V::max(top, V::first_lanes(visible - t, V::load_float(logits + t), none));
    const float seen = V::largest(top);
    const float now = seen > most ? seen : most;
    const Float offset = V::broadcast_float(now);
    Float added = V::zero_float();
    for (std::size_t t = 0; t < kTileTokens; t += V::kLanes) {
      Float p = V::zero_float();
      if (t < visible) {
        p = VectorOps<V>::exp(V::sub(V::load_float(logits + t), offset));
        p = V::first_lanes(visible - t, p, V::zero_float());
      }
      added = V::add(added, p);
      V::store(logits + t, p);
    }
    const float shrink = most == now ? 1.0f : __builtin_expf(most - now);
    total = total * shrink + V::sum(added);
    most = now;
    return shrink;
  }
};

}  // namespace
}  // namespace satchel::kernels::cpu
