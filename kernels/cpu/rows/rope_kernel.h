// Rotary embedding, written once for the registers `V` of all levels. Sines and cosines of a token
// are computed once for all layers and expanded once for all heads.
//   phase   position times frequency in fp64, reduced by a multiple of pi/2 in two fused steps, so
//           that all int32 positions are good; sine and cosine by Taylor sums to degree 13 and 14:
//           error 1e-13, before rounding to fp32
#pragma once

#include <cstddef>

#include "kernels/cpu/dispatch/vector_ops_table.h"
#include "kernels/cpu/levels/simd_inline.h"

namespace satchel::kernels::cpu {
namespace {

template <class V>
struct RopeKernel {
  using Float = typename V::Float;
  using Double = typename V::Double;
  static constexpr std::size_t kPairsMax = 64;  // rotated at a time

  SATCHEL_INLINE Double c(double value) { return V::broadcast_double(value); }

  SATCHEL_INLINE void sine_cosine(Double phase, float* sine, float* cosine) {
    // Adding 1.5 · 2^52 leaves the nearest integer in the low bits of the sum.
    const Double shifted = V::fma_double(phase, c(0.63661977236758134308), c(0x1.8p52));
    const auto quarter = V::bits_of(shifted);
    const Double rotations = V::sub_double(shifted, c(0x1.8p52));
    Double r = V::fma_double(rotations, c(-1.57079632679489655800), phase);
    r = V::fma_double(rotations, c(-6.12323399573676603587e-17), r);
    const Double r2 = V::mul_double(r, r);
    Double s = c(1.0 / 6227020800.0);
    s = V::fma_double(s, r2, c(-1.0 / 39916800.0));
    s = V::fma_double(s, r2, c(1.0 / 362880.0));
    s = V::fma_double(s, r2, c(-1.0 / 5040.0));
    s = V::fma_double(s, r2, c(1.0 / 120.0));
    s = V::fma_double(s, r2, c(-1.0 / 6.0));
    s = V::fma_double(V::mul_double(s, r2), r, r);
    Double k = c(-1.0 / 87178291200.0);
    k = V::fma_double(k, r2, c(1.0 / 479001600.0));
    k = V::fma_double(k, r2, c(-1.0 / 3628800.0));
    k = V::fma_double(k, r2, c(1.0 / 40320.0));
    k = V::fma_double(k, r2, c(-1.0 / 720.0));
    k = V::fma_double(k, r2, c(1.0 / 24.0));
    k = V::fma_double(k, r2, c(-0.5));
    k = V::fma_double(k, r2, c(1.0));
    // An odd quarter swaps the two; signs follow from the quarter's second bit.
    V::store_as_float(sine, V::negate_by_bit_1(quarter, V::pick(quarter, s, k)));
    V::store_as_float(cosine, V::negate_by_bit_1(V::add_long(quarter, 1), V::pick(quarter, k, s)));
  }

  static void rotation(std::int32_t position, const double* inverse_frequency, std::size_t n_pairs,
                       float* out) {
    for (std::size_t i = 0; i < n_pairs; i += V::kDoubles) {
      double some[V::kDoubles] = {};
      float sine[V::kDoubles], cosine[V::kDoubles];
      const std::size_t left = n_pairs - i < V::kDoubles ? n_pairs - i : V::kDoubles;
      __builtin_memcpy(some, inverse_frequency + i, left * sizeof(double));
      sine_cosine(V::mul_double(V::load_double(some), c(static_cast<double>(position))), sine,
                  cosine);
      for (std::size_t k = 0; k < left; ++k) {
        out[2 * (i + k)] = cosine[k];
        out[2 * (i + k) + 1] = sine[k];
      }
    }
  }

  SATCHEL_INLINE void rotate(float& a, float& b, float sine, float cosine) {
    const float first = __builtin_fmaf(a, cosine, -(b * sine));
    b = __builtin_fmaf(b, cosine, a * sine);
    a = first;
  }

  SATCHEL_INLINE void halves(float* a, float* b, std::size_t n, const float* sine,
                             const float* cosine) {
    std::size_t i = 0;
    for (; i + V::kFloats <= n; i += V::kFloats) {
      const Float x = V::load_float(a + i), y = V::load_float(b + i);
      const Float s = V::load_float(sine + i), k = V::load_float(cosine + i);
      V::store(a + i, V::fma(x, k, V::sub(V::zero_float(), V::mul(y, s))));
      V::store(b + i, V::fma(y, k, V::mul(x, s)));
    }
    for (; i < n; ++i) rotate(a[i], b[i], sine[i], cosine[i]);
  }

  // sine2 and cosine2 hold (-s, s) and (c, c) for each pair.
  SATCHEL_INLINE void adjacent(float* x, std::size_t n, const float* sine2, const float* cosine2) {
    std::size_t i = 0;
    for (; i + V::kFloats <= 2 * n; i += V::kFloats) {
      const Float all = V::load_float(x + i);
      const Float other = V::mul(V::swap_neighbours(all), V::load_float(sine2 + i));
      V::store(x + i, V::fma(all, V::load_float(cosine2 + i), other));
    }
    for (; i < 2 * n; i += 2) rotate(x[i], x[i + 1], sine2[i + 1], cosine2[i]);
  }

  static void run_adjacent(const RopeJob& job, const float* of_token, float* token) {
    float sine2[2 * kPairsMax], cosine2[2 * kPairsMax];
    for (std::size_t first = 0; first < job.n_pairs; first += kPairsMax) {
      const std::size_t n = job.n_pairs - first < kPairsMax ? job.n_pairs - first : kPairsMax;
      for (std::size_t i = 0; i < n; ++i) {
        const float cosine = of_token[2 * (first + i)], sine = of_token[2 * (first + i) + 1];
        sine2[2 * i] = -sine;
        sine2[2 * i + 1] = sine;
        cosine2[2 * i] = cosine2[2 * i + 1] = cosine;
      }
      for (std::size_t h = 0; h < job.n_heads; ++h)
        adjacent(token + h * job.head_dim + 2 * first, n, sine2, cosine2);
    }
  }

  static void run_halves(const RopeJob& job, const float* of_token, float* token) {
    float sine[kPairsMax], cosine[kPairsMax];
    for (std::size_t first = 0; first < job.n_pairs; first += kPairsMax) {
      const std::size_t n = job.n_pairs - first < kPairsMax ? job.n_pairs - first : kPairsMax;
      for (std::size_t i = 0; i < n; ++i) {
        cosine[i] = of_token[2 * (first + i)];
        sine[i] = of_token[2 * (first + i) + 1];
      }
      for (std::size_t h = 0; h < job.n_heads; ++h) {
        float* head = token + h * job.head_dim + first;
        halves(head, head + job.n_pairs, n, sine, cosine);
      }
    }
  }

  static void run(const RopeJob& job) {
    for (std::size_t t = 0; t < job.n_tokens; ++t) {
      const float* of_token = job.rotation + t * 2 * job.n_pairs;
      float* token = job.x + t * job.n_heads * job.head_dim;
      if (job.adjacent)
        run_adjacent(job, of_token, token);
      else
        run_halves(job, of_token, token);
    }
  }
};

}  // namespace
}  // namespace satchel::kernels::cpu
