// The ranges and codes of mixed-bit keys (reference/codec_mixed_bit.h), many channels at a time,
// with the same roundings in the same order and so the same bytes.
#pragma once

#include <immintrin.h>

#include "kernels/contract/mixed_bit.h"
#include "kernels/cpu/dispatch/encode_table.h"
#include "kernels/cpu/levels/simd_inline.h"
#include "kernels/cpu/pages/encode_range_kernel.h"
#include "kernels/reference/codec_mixed_bit.h"

namespace satchel::kernels::cpu {
namespace {

template <class V>
struct MixedBitEncode {
  using Float = typename V::Float;

  static void run(const MixedBitJob& job) {
    for (std::size_t c = 0; c < job.head_dim; c += V::kFloats) {
      MixedBitEncode channels(job, c);
      for (const float ratio : reference::kMixedBitRatios) channels.attempt(ratio);
      channels.write(c);
    }
  }

 private:
  struct Range {
    Float scale, zero, inverse;
  };

  SATCHEL_INLINE Float at(const MixedBitJob& job, std::size_t t, std::size_t c) {
    return V::load_float(job.x + t * job.head_dim + c);
  }

  MixedBitEncode(const MixedBitJob& job, std::size_t c) : job_(job), c_(c) {
    alignas(64) float tops[V::kFloats];
    for (std::size_t i = 0; i < V::kFloats; ++i)
      tops[i] = static_cast<float>((1u << job.quad_bits[(c + i) / kQuad]) - 1);
    top_ = V::load_float(tops);
    has_bits_ = V::above(top_, V::zero_float());
    Float low = at(job, 0, c), high = low, sum = low;
    for (std::size_t t = 1; t < job.n_tokens; ++t) {
      const Float x = at(job, t, c);
      low = V::min(low, x), high = V::max(high, x), sum = V::add(sum, x);
    }
    const Float a_half = V::broadcast_float(0.5f);
    const Float upper = V::mul(high, a_half), lower = V::mul(low, a_half);
    const Float mean = V::div(sum, V::broadcast_float(static_cast<float>(job.n_tokens)));
    middle_ = V::pick_floats(has_bits_, V::add(lower, upper), mean);
    half_ = V::sub(upper, lower);
    missed_ = V::broadcast_float(__builtin_inff());
    best_ = {V::zero_float(), V::zero_float(), V::zero_float()};
  }

  SATCHEL_INLINE Float as_half(Float x) {
    return EncodeRange<V, false>::template halved<_MM_FROUND_TO_NEAREST_INT>(x);
  }

  [[gnu::always_inline]] inline Range range(float ratio) const {
    const Float none = V::zero_float();
    const Float step = V::div(V::mul(V::broadcast_float(2 * ratio), half_), top_);
    const Float most = V::broadcast_float(reference::kMixedBitStepMax);
    Range made;
    made.scale = as_half(V::pick_floats(has_bits_, V::min(step, most), none));
    const Float span = V::mul(V::mul(made.scale, top_), V::broadcast_float(0.5f));
    made.zero = as_half(V::sub(middle_, span));
    made.inverse = V::pick_floats(V::above(made.scale, none),
                                  V::div(V::broadcast_float(1.0f), made.scale), none);
    return made;
  }

  [[gnu::always_inline]] inline Float code(Float x, const Range& range) const {
    const Float steps = V::mul(V::sub(x, range.zero), range.inverse);
    const Float inside = V::min(V::max(steps, V::zero_float()), top_);
    const Float shift = V::broadcast_float(reference::kMixedBitRounding);
    return V::sub(V::add(inside, shift), shift);
  }

  [[gnu::always_inline]] inline void attempt(float ratio) {
    const Range tried = range(ratio);
    Float sum = V::zero_float();
    for (std::size_t t = 0; t < job_.n_tokens; ++t) {
      const Float x = at(job_, t, c_);
      const Float value = V::add(V::mul(code(x, tried), tried.scale), tried.zero);
      const Float missed = V::sub(value, x);
      sum = V::add(sum, V::mul(missed, missed));
    }
    const unsigned is_better = V::above(missed_, sum);
    missed_ = V::pick_floats(is_better, sum, missed_);
    best_.scale = V::pick_floats(is_better, tried.scale, best_.scale);
    best_.zero = V::pick_floats(is_better, tried.zero, best_.zero);
    best_.inverse = V::pick_floats(is_better, tried.inverse, best_.inverse);
  }

  [[gnu::always_inline]] inline void write(std::size_t c) const {
    V::template store_half<_MM_FROUND_TO_NEAREST_INT>(job_.scales + c, best_.scale);
    V::template store_half<_MM_FROUND_TO_NEAREST_INT>(job_.zeros + c, best_.zero);
    for (std::size_t t = 0; t < job_.n_tokens; ++t)
      V::store_bytes(job_.codes + t * job_.head_dim + c, code(at(job_, t, c), best_));
  }

  const MixedBitJob& job_;
  const std::size_t c_;
  Float top_, middle_, half_, missed_;
  unsigned has_bits_;
  Range best_;
};

}  // namespace
}  // namespace satchel::kernels::cpu
