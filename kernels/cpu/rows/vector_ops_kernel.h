// Norm, activation, addition and search, written once over the registers `V` of a level.
//   exp     argument to [-87, 88], then 2^n times a polynomial of degree 6: relative error 2e-7
//   sums    in 2 · kFloats partial sums: the same bits for every call, not for every level
#pragma once

#include <cstddef>

#include "kernels/contract/backend.h"
#include "kernels/cpu/levels/simd_inline.h"
#include "kernels/cpu/rows/linear_attention_kernel.h"
#include "kernels/cpu/rows/rope_kernel.h"

namespace satchel::kernels::cpu {
namespace {

template <class V>
struct VectorOps {
  using Float = typename V::Float;
  static constexpr std::size_t kFloats = V::kFloats;

  SATCHEL_INLINE Float load_some(const float* at, std::size_t n) {
    float whole[kFloats] = {};
    __builtin_memcpy(whole, at, n * sizeof(float));
    return V::load_float(whole);
  }
  SATCHEL_INLINE Float load_up_to(const float* at, std::size_t n) {
    return n == kFloats ? V::load_float(at) : load_some(at, n);
  }
  SATCHEL_INLINE void store_some(float* at, Float value, std::size_t n) {
    float whole[kFloats];
    V::store(whole, value);
    __builtin_memcpy(at, whole, n * sizeof(float));
  }
  // out[i] = body(x[i], y[i])
  template <class Body>
  SATCHEL_INLINE void map(const float* x, const float* y, std::size_t n, float* out,
                          const Body& body) {
    std::size_t i = 0;
    for (; i + kFloats <= n; i += kFloats)
      V::store(out + i, body(V::load_float(x + i), V::load_float(y + i)));
    if (i < n) store_some(out + i, body(load_some(x + i, n - i), load_some(y + i, n - i)), n - i);
  }

  SATCHEL_INLINE Float exp(Float x) {
    const auto c = [](float value) SATCHEL_INLINE_LAMBDA { return V::broadcast_float(value); };
    x = V::max(c(-87.0f), V::min(c(88.0f), x));  // in this order a NaN stays
    const auto n = V::round_to_int(V::mul(x, c(1.44269504f)));
    const Float whole = V::to_float(n);
    Float r = V::fma(whole, c(-0.693145751953125f), x);  // ln 2 in two parts, the first exact
    r = V::fma(whole, c(-1.42860677e-6f), r);
    Float p = c(1.0f / 720);
    p = V::fma(p, r, c(1.0f / 120));
    p = V::fma(p, r, c(1.0f / 24));
    p = V::fma(p, r, c(1.0f / 6));
    p = V::fma(p, r, c(0.5f));
    p = V::fma(p, r, c(1.0f));
    p = V::fma(p, r, c(1.0f));
    return V::mul(p, V::power_of_two(n));
  }

  // 1 - 2 / (exp(2x) + 1): an absolute error of some 2e-7
  SATCHEL_INLINE Float tanh(Float x) {
    const Float one = V::broadcast_float(1.0f), two = V::broadcast_float(2.0f);
    return V::sub(one, V::div(two, V::add(exp(V::mul(x, two)), one)));
  }

  static void rms_norm(const float* x, const float* gain, std::size_t width, float epsilon,
                       float* out) {
    Float even = V::zero_float(), odd = V::zero_float();
    std::size_t i = 0;
    for (; i + 2 * kFloats <= width; i += 2 * kFloats) {
      const Float a = V::load_float(x + i), b = V::load_float(x + i + kFloats);
      even = V::fma(a, a, even);
      odd = V::fma(b, b, odd);
    }
    for (; i < width; i += kFloats) {
      const Float a = i + kFloats <= width ? V::load_float(x + i) : load_some(x + i, width - i);
      even = V::fma(a, a, even);
    }
    const double mean = static_cast<double>(V::sum(V::add(even, odd))) / static_cast<double>(width);
    const double scale = 1 / __builtin_sqrt(mean + static_cast<double>(epsilon));
    const Float of_row = V::broadcast_float(static_cast<float>(scale));
    map(x, gain, width, out,
        [&](Float a, Float g) SATCHEL_INLINE_LAMBDA { return V::mul(V::mul(a, of_row), g); });
  }

  static void glu_silu(float* gate, const float* up, std::size_t n) {
    map(gate, up, n, gate, [](Float g, Float u) SATCHEL_INLINE_LAMBDA {
      const Float one = V::broadcast_float(1.0f);
      return V::mul(V::div(g, V::add(one, exp(V::sub(V::zero_float(), g)))), u);
    });
  }

  // x · (1 + tanh(u)) / 2 = x / (1 + exp(-2u)), u = sqrt(2 / pi) · (x + 0.044715 x³)
  static void glu_gelu(float* gate, const float* up, std::size_t n) {
    map(gate, up, n, gate, [](Float g, Float u) SATCHEL_INLINE_LAMBDA {
      const Float one = V::broadcast_float(1.0f);
      const Float cubic = V::fma(V::mul(V::mul(g, g), V::broadcast_float(0.044715f)), g, g);
      const Float twice = V::mul(cubic, V::broadcast_float(-1.5957691216057308f));
      return V::mul(V::div(g, V::add(one, exp(twice))), u);
    });
  }

  static void glu_clamped(float* gate, const float* up, std::size_t n) {
    map(gate, up, n, gate, [](Float g, Float u) SATCHEL_INLINE_LAMBDA {
      const Float one = V::broadcast_float(1.0f);
      const Float most = V::broadcast_float(kClampedMost),
                  least = V::broadcast_float(-kClampedMost);
      g = V::min(most, g);  // in this order a NaN stays
      u = V::max(least, V::min(most, u));
      const Float slope = V::broadcast_float(-kClampedSlope);
      return V::mul(V::div(g, V::add(one, exp(V::mul(slope, g)))), V::add(u, one));
    });
  }

  static void glu_sigmoid(float* gate, const float* up, std::size_t n) {
    map(gate, up, n, gate, [](Float g, Float u) SATCHEL_INLINE_LAMBDA {
      const Float one = V::broadcast_float(1.0f);
      return V::div(u, V::add(one, exp(V::sub(V::zero_float(), g))));
    });
  }

  static void glu_relu(float* gate, const float* up, std::size_t n) {
    map(gate, up, n, gate, [](Float g, Float u) SATCHEL_INLINE_LAMBDA {
      return V::mul(V::max(V::zero_float(), g), u);  // in this order a NaN stays
    });
  }

  static void scale(float* x, float factor, std::size_t n) {
    const Float by = V::broadcast_float(factor);
    map(x, x, n, x, [&](Float a, Float) SATCHEL_INLINE_LAMBDA { return V::mul(a, by); });
  }

  static void soft_cap(float* x, float cap, std::size_t n) {
    const Float most = V::broadcast_float(cap);
    map(x, x, n, x,
        [&](Float a, Float) SATCHEL_INLINE_LAMBDA { return V::mul(most, tanh(V::div(a, most))); });
  }

  static void add(float* x, const float* y, std::size_t n) {
    map(x, y, n, x, [](Float a, Float b) SATCHEL_INLINE_LAMBDA { return V::add(a, b); });
  }

  static void multiply(float* x, const float* y, std::size_t n) {
    map(x, y, n, x, [](Float a, Float b) SATCHEL_INLINE_LAMBDA { return V::mul(a, b); });
  }

  static void exp_less(float* x, float y, std::size_t n) {
    const Float less = V::broadcast_float(y);
    map(x, x, n, x, [&](Float a, Float) SATCHEL_INLINE_LAMBDA { return exp(V::sub(a, less)); });
  }

  static void widen(const Half* x, std::size_t n, float* out) {
    std::size_t i = 0;
    for (; i + kFloats <= n; i += kFloats) V::store(out + i, V::load_half(x + i));
    if (i == n) return;
    Half whole[kFloats] = {};
    __builtin_memcpy(whole, x + i, (n - i) * sizeof(Half));
    store_some(out + i, V::load_half(whole), n - i);
  }

  static float sum(const float* x, std::size_t n) {
    Float even = V::zero_float(), odd = V::zero_float();
    std::size_t i = 0;
    for (; i + 2 * kFloats <= n; i += 2 * kFloats) {
      even = V::add(even, V::load_float(x + i));
      odd = V::add(odd, V::load_float(x + i + kFloats));
    }
    for (; i < n; i += kFloats)
      even = V::add(even, load_some(x + i, n - i < kFloats ? n - i : kFloats));
    return V::sum(V::add(even, odd));
  }

  static float quadratic(const float* x, const float* linear, const float* square, std::size_t n) {
    const auto term = [](Float a, Float l, Float s, Float sum)
                          SATCHEL_INLINE_LAMBDA { return V::fma(a, V::fma(s, a, l), sum); };
    Float even = V::zero_float(), odd = V::zero_float();
    std::size_t i = 0;
    for (; i + 2 * kFloats <= n; i += 2 * kFloats) {
      const std::size_t next = i + kFloats;
      even = term(V::load_float(x + i), V::load_float(linear + i), V::load_float(square + i), even);
      odd = term(V::load_float(x + next), V::load_float(linear + next),
                 V::load_float(square + next), odd);
    }
    for (; i < n; i += kFloats) {
      const std::size_t m = n - i < kFloats ? n - i : kFloats;
      even = term(load_some(x + i, m), load_some(linear + i, m), load_some(square + i, m), even);
    }
    return V::sum(V::add(even, odd));
  }

  static std::size_t find_above(const float* x, std::size_t begin, std::size_t n, float limit) {
    const Float limits = V::broadcast_float(limit);
    std::size_t i = begin;
    for (; i + kFloats <= n; i += kFloats)
      if (const unsigned found = V::above(V::load_float(x + i), limits); found != 0)
        return i + static_cast<std::size_t>(__builtin_ctz(found));
    while (i < n && x[i] <= limit) ++i;
    return i;
  }
};

template <class V>
using LinearAttentionOps = LinearAttentionKernel<V, VectorOps<V>>;

template <class V>
constexpr VectorOpsTable kVectorOpsTable = {
    .rms_norm = VectorOps<V>::rms_norm,
    .glu_silu = VectorOps<V>::glu_silu,
    .glu_gelu = VectorOps<V>::glu_gelu,
    .glu_clamped = VectorOps<V>::glu_clamped,
    .glu_sigmoid = VectorOps<V>::glu_sigmoid,
    .glu_relu = VectorOps<V>::glu_relu,
    .add = VectorOps<V>::add,
    .scale = VectorOps<V>::scale,
    .soft_cap = VectorOps<V>::soft_cap,
    .multiply = VectorOps<V>::multiply,
    .exp_less = VectorOps<V>::exp_less,
    .widen = VectorOps<V>::widen,
    .quadratic = VectorOps<V>::quadratic,
    .sum = VectorOps<V>::sum,
    .rotation = RopeKernel<V>::rotation,
    .rope = RopeKernel<V>::run,
    .conv_silu = LinearAttentionOps<V>::conv_silu,
    .linear_attention = LinearAttentionOps<V>::linear_attention,
    .find_above = VectorOps<V>::find_above};

}  // namespace
}  // namespace satchel::kernels::cpu
