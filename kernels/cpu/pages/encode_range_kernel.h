// The scale and zero of a group's columns, many columns at a time. Each step equals the reference's
// (reference/codec_affine.h), with one fp32 rounding, so it gives the same halves.
#pragma once

#include "kernels/base/half.h"
#include "kernels/contract/clipping.h"
#include "kernels/cpu/levels/simd_inline.h"

namespace satchel::kernels::cpu {
namespace {

template <class V, bool kSymmetric>
struct EncodeRange {
  using Float = typename V::Float;
  static constexpr std::size_t kErrorStep = 16;  // rows between looks at whether to go on

  // What neighbouring columns of one group are coded with.
  struct Range {
    Float scale, zero;  // as their halves say; symmetric: no zero
  };
  struct Coding {
    Float top, middle;  // codes are 0 … top
    explicit Coding(std::size_t bits)
        : top(V::broadcast_float(static_cast<float>((1u << bits) - 1))),
          middle(V::mul(top, V::broadcast_float(0.5f))) {}
  };

  // To fp16 and back.
  template <int kMode>
  SATCHEL_INLINE Float halved(Float x) {
    alignas(64) Half halves[V::kFloats];
    V::template store_half<kMode>(halves, x);
    return V::load_half(halves);
  }

  // Not rounded yet. x / 0 is a NaN or infinite: max gives its second operand for a NaN.
  SATCHEL_INLINE Float code_of(Float x, const Range& range, const Coding& coding) {
    Float code;
    if constexpr (kSymmetric)
      code = V::add(V::div(x, range.scale), coding.middle);
    else
      code = V::div(V::sub(x, range.zero), range.scale);
    return V::min(V::max(code, V::zero_float()), coding.top);
  }

  // Rounded outward. + 0 makes a -0 a +0, of which the minimum of both signs may be either.
  SATCHEL_INLINE Range widest(Float low, Float high, const Coding& coding) {
    const Float none = V::zero_float();
    Range range{none, none};
    Float span;
    if constexpr (kSymmetric) {
      const Float most = V::max(V::magnitude(low), V::magnitude(high));
      span = V::add(most, most);
    } else {
      range.zero = halved<_MM_FROUND_TO_NEG_INF>(V::add(low, none));
      span = V::sub(high, range.zero);
    }
    range.scale = halved<_MM_FROUND_TO_POS_INF>(V::add(V::div(span, coding.top), none));
    return range;
  }
  SATCHEL_INLINE Range clipped(Float low, Float high, float share, const Coding& coding) {
    const Float part = V::broadcast_float(share);
    Range range{V::zero_float(), V::zero_float()};
    Float reach;
    if constexpr (kSymmetric) {
      reach = V::mul(V::max(V::magnitude(low), V::magnitude(high)), part);
    } else {
      const Float half = V::broadcast_float(0.5f);
      reach = V::mul(V::mul(V::sub(high, low), half), part);
      range.zero = halved<_MM_FROUND_TO_NEAREST_INT>(
          V::add(V::sub(V::mul(V::add(low, high), half), reach), V::zero_float()));
    }
    range.scale = halved<_MM_FROUND_TO_NEAREST_INT>(V::div(V::add(reach, reach), coding.top));
    return range;
  }

  // Σ (x - decoded)² of each column, from the first row to the last. Squares only add: where no
  // column's sum is below `least` any more the rest is left out.
  SATCHEL_INLINE Float squared_error(const float* x, std::size_t n_rows, const Range& range,
                                     const Coding& coding, Float least) {
    Float sum = V::zero_float();
    for (std::size_t first = 0; first < n_rows; first += kErrorStep) {
      const std::size_t end = n_rows - first < kErrorStep ? n_rows : first + kErrorStep;
      for (std::size_t r = first; r < end; ++r) {
        const Float value = V::load_float(x + r * V::kFloats);
        const Float code = V::to_float(V::round_to_int(code_of(value, range, coding)));
        Float decoded;
        if constexpr (kSymmetric)
          decoded = V::mul(V::sub(code, coding.middle), range.scale);
        else
          decoded = V::add(V::mul(code, range.scale), range.zero);
        const Float off = V::sub(value, decoded);
        sum = V::add(sum, V::mul(off, off));
      }
      if (V::above(least, sum) == 0) break;
    }
    return sum;
  }

  // x [n_rows, kFloats]
  SATCHEL_INLINE Range best_range(const float* x, std::size_t n_rows, Float low, Float high,
                                  const Coding& coding) {
    Range best = widest(low, high, coding);
    Float least = squared_error(x, n_rows, best, coding, V::broadcast_float(__builtin_inff()));
    for (const float share : kClipShares) {
      const Range range = clipped(low, high, share, coding);
      const Float error = squared_error(x, n_rows, range, coding, least);
      const std::uint32_t better = V::above(least, error) & V::above(range.scale, V::zero_float());
      best.scale = V::pick_floats(better, range.scale, best.scale);
      best.zero = V::pick_floats(better, range.zero, best.zero);
      least = V::pick_floats(better, error, least);
    }
    return best;
  }
};

}  // namespace
}  // namespace satchel::kernels::cpu
