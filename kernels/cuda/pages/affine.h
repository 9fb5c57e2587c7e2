// The quantiser U(b) on a card: each function does the roundings of the one of its name in
// kernels/reference/codec_affine.cpp, so that pages have the same bytes. For .cu files.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/contract/clipping.h"
#include "kernels/cuda/pages/pages.h"
#include "kernels/cuda/primitives/half.h"

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

// The whole range, then kClipShares of it, as an object: code for a card cannot reach the array.
struct RangeShares {
  static constexpr unsigned kCount = 1 + sizeof(kClipShares) / sizeof(kClipShares[0]);
  float of[kCount];
};
constexpr RangeShares range_shares() {
  RangeShares out = {};
  out.of[0] = 1;
  for (unsigned i = 1; i < RangeShares::kCount; ++i) out.of[i] = kClipShares[i - 1];
  return out;
}

// Scale and zero of a group as they lie beside each other in a word.
struct AffineGroup {
  std::uint16_t scale, zero;
  __device__ __forceinline__ std::uint32_t word() const {
    return scale | std::uint32_t{zero} << 16;
  }
};

class Affine {
 public:
  // A group's scale and zero as numbers.
  struct Range {
    float scale, zero;
  };

  __device__ __forceinline__ explicit Affine(const PageOperand& operand)
      : top_(static_cast<float>((1u << operand.bits) - 1)),
        is_symmetric_(operand.is_symmetric),
        clips_(operand.clips) {}

  __device__ static __forceinline__ Range range(AffineGroup group) {
    return {half_value(group.scale), half_value(group.zero)};
  }
  __device__ static __forceinline__ Range range(std::uint32_t word) {
    return range(AffineGroup{static_cast<std::uint16_t>(word & 0xffffu),
                             static_cast<std::uint16_t>(word >> 16)});
  }
  __device__ __forceinline__ float decode(const Range& range, float code) const {
    if (is_symmetric_) return (code - top_ * 0.5f) * range.scale;
    return code * range.scale + range.zero;
  }
  __device__ __forceinline__ float code_of(const Range& range, float x) const {
    if (!(range.scale > 0)) return 0;
    const float code =
        is_symmetric_ ? x / range.scale + top_ * 0.5f : (x - range.zero) / range.scale;
    return fminf(fmaxf(rintf(code), 0.0f), top_);
  }

  // Of n values, `step` apart: read twice, all shares tried at once.
  __device__ __forceinline__ AffineGroup find(const float* x, unsigned n, unsigned step) const {
    float low = x[0], high = x[0];
    for (unsigned i = 1; i < n; ++i) {
      const float value = x[std::size_t{i} * step];
      low = value < low ? value : low;
      high = value < high ? high : value;
    }
    const AffineGroup all = widest(low, high);
    return clips_ ? best(x, n, step, low, high, all) : all;
  }

 private:
  __device__ __forceinline__ AffineGroup widest(float low, float high) const {
    if (is_symmetric_) return {half_up(fmaxf(fabsf(low), fabsf(high)) * 2 / top_), 0};
    AffineGroup group;
    group.zero = half_down(low + 0.0f);  // -0 + 0 is +0
    group.scale = half_up((high - half_value(group.zero)) / top_);
    if (!(half_value(group.scale) > 0)) group.scale = 0;
    return group;
  }
  __device__ __forceinline__ AffineGroup clipped(float low, float high, float share) const {
    if (is_symmetric_) return {half_nearest(fmaxf(fabsf(low), fabsf(high)) * share * 2 / top_), 0};
    const float middle = (low + high) * 0.5f, reach = (high - low) * 0.5f * share;
    return {half_nearest(reach * 2 / top_), half_nearest(middle - reach + 0.0f)};
  }

  __device__ __forceinline__ AffineGroup best(const float* x, unsigned n, unsigned step, float low,
                                              float high, AffineGroup all) const {
    constexpr RangeShares kShares = range_shares();
    constexpr unsigned kCount = RangeShares::kCount;
    AffineGroup tried[kCount];
    float errors[kCount];
#pragma unroll
    for (unsigned s = 0; s < kCount; ++s) {
      tried[s] = s == 0 ? all : clipped(low, high, kShares.of[s]);
      errors[s] = 0;
    }
    for (unsigned i = 0; i < n; ++i) {
      const float value = x[std::size_t{i} * step];
#pragma unroll
      for (unsigned s = 0; s < kCount; ++s) {
        const Range of_share = range(tried[s]);
        const float off = value - decode(of_share, code_of(of_share, value));
        errors[s] += off * off;
      }
    }
    AffineGroup found = tried[0];
    float least = errors[0];
#pragma unroll
    for (unsigned s = 1; s < kCount; ++s) {
      if (tried[s].scale == 0 || !(errors[s] < least)) continue;
      found = tried[s];
      least = errors[s];
    }
    return found;
  }

  float top_;
  bool is_symmetric_, clips_;
};

}  // namespace satchel::kernels::cuda
