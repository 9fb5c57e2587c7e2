// The number of channels that share a range: the largest multiple of 16 (the step of the affine
// kernels) that divides head_dim and is at most `most`. For head_dim 80 and 128: 80; for 96 and 64:
// 48.
#pragma once

#include <cstddef>

namespace satchel::kvcache {

// head_dim a multiple of 16, most 16 or more: those of others no page has.
constexpr std::size_t head_group(std::size_t head_dim, std::size_t most) {
  constexpr std::size_t kStep = 16;
  std::size_t group = kStep;
  for (std::size_t wider = kStep; wider <= most && wider <= head_dim; wider += kStep)
    if (head_dim % wider == 0) group = wider;
  return group;
}
static_assert(head_group(80, 128) == 80 && head_group(96, 64) == 48 && head_group(256, 128) == 128);

}  // namespace satchel::kvcache
