// The quantiser U(b) on a card: each function does the roundings of the one of its name in
// kernels/reference/codec_affine.cpp, so that pages have the same bytes. For .cu files.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/contract/clipping.h"
#include "kernels/cuda/half.h"
#include "kernels/cuda/pages.h"

namespace satchel::kernels::cuda {

// Toward -infinity, of finite x within fp16's range.
__device__ __forceinline__ std::uint16_t half_down(float x) {
  const std::uint16_t half = half_nearest(x);
  if (half_value(half) <= x) return half;
  if (half == 0) return 0x8001u;
  return static_cast<std::uint16_t>((half & 0x8000u) != 0 ? half + 1 : half - 1);
}
__device__ __forceinline__ std::uint16_t half_up(float x) {
  return static_cast<std::uint16_t>(half_down(-x) ^ 0x8000u);
}

// kClipShares as an object of its own: code for a card cannot reach the array.
struct ClipShares {
  static constexpr unsigned kCount = sizeof(kClipShares) / sizeof(kClipShares[0]);
  float of[kCount];
};
constexpr ClipShares clip_shares() {
  ClipShares out = {};
  for (unsigned i = 0; i < ClipShares::kCount; ++i) out.of[i] = kClipShares[i];
  return out;
}

struct AffineGroup {
  std::uint16_t scale, zero;
};

struct Affine {
  float top;
  bool is_symmetric, clips;

  __device__ explicit Affine(const PageOperand& operand)
      : top(static_cast<float>((1u << operand.bits) - 1)),
        is_symmetric(operand.is_symmetric),
        clips(operand.clips) {}

  __device__ __forceinline__ float decode(AffineGroup group, unsigned code) const {
    const auto value = static_cast<float>(code);
    const float scale = half_value(group.scale);
    if (is_symmetric) return (value - top * 0.5f) * scale;
    return value * scale + half_value(group.zero);
  }
  __device__ __forceinline__ unsigned code_of(AffineGroup group, float x) const {
    const float scale = half_value(group.scale);
    if (!(scale > 0)) return 0;
    const float code = is_symmetric ? x / scale + top * 0.5f : (x - half_value(group.zero)) / scale;
    return static_cast<unsigned>(fminf(fmaxf(rintf(code), 0.0f), top));
  }

  __device__ AffineGroup widest(float low, float high) const {
    if (is_symmetric) return {half_up(fmaxf(fabsf(low), fabsf(high)) * 2 / top), 0};
    AffineGroup group;
    group.zero = half_down(low + 0.0f);  // -0 + 0 is +0
    group.scale = half_up((high - half_value(group.zero)) / top);
    if (!(half_value(group.scale) > 0)) group.scale = 0;
    return group;
  }
  __device__ AffineGroup clipped(float low, float high, float share) const {
    if (is_symmetric) return {half_nearest(fmaxf(fabsf(low), fabsf(high)) * share * 2 / top), 0};
    const float middle = (low + high) * 0.5f, reach = (high - low) * 0.5f * share;
    return {half_nearest(reach * 2 / top), half_nearest(middle - reach + 0.0f)};
  }

  // Of n values, stride apart.
  __device__ float squared_error(AffineGroup group, const float* x, unsigned n,
                                 unsigned stride) const {
    float sum = 0;
    for (unsigned i = 0; i < n; ++i) {
      const float value = x[std::size_t{i} * stride];
      const float off = value - decode(group, code_of(group, value));
      sum += off * off;
    }
    return sum;
  }
  __device__ AffineGroup range_of(const float* x, unsigned n, unsigned stride) const {
    float low = x[0], high = x[0];
    for (unsigned i = 1; i < n; ++i) {
      const float value = x[std::size_t{i} * stride];
      low = value < low ? value : low;
      high = value < high ? high : value;
    }
    AffineGroup best = widest(low, high);
    if (!clips) return best;
    float least = squared_error(best, x, n, stride);
    constexpr ClipShares kShares = clip_shares();
    for (unsigned i = 0; i < ClipShares::kCount; ++i) {
      const AffineGroup group = clipped(low, high, kShares.of[i]);
      const float error = squared_error(group, x, n, stride);
      if (group.scale == 0 || !(error < least)) continue;
      best = group;
      least = error;
    }
    return best;
  }
};

}  // namespace satchel::kernels::cuda
