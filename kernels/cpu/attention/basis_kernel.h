// Rows times a matrix (contract/transform.h, Transform::basis), with sums in registers that start
// at the first entry. For keys, products and sums are rounded separately, which gives the
// reference's bits. For queries they are fused, and each matrix entry is loaded once for several
// rows.
#pragma once

#include <cstddef>

#include "kernels/contract/page_layout.h"
#include "kernels/cpu/levels/simd_inline.h"

namespace satchel::kernels::cpu {
namespace {

template <class V>
struct BasisRows {
  using Float = typename V::Float;
  static constexpr std::size_t kSums = 4;  // registers at a time; head_dim is a multiple of 16
  static constexpr std::size_t kRows =
      V::kFloats >= 16 ? 4 : 2;  // of queries: their sums are registers

  // rows [n_rows, n] = rows · matrix [n, n], in place; n is a multiple of 16, at most kHeadDimMax.
  static void keys(const float* matrix, float* rows, std::size_t n_rows, std::size_t n) {
    for (std::size_t r = 0; r < n_rows; ++r) together<1, false>(matrix, rows + r * n, n);
  }
  static void queries(const float* matrix, float* rows, std::size_t n_rows, std::size_t n) {
    std::size_t r = 0;
    for (; r + kRows <= n_rows; r += kRows) together<kRows, true>(matrix, rows + r * n, n);
    if constexpr (kRows > 2)
      for (; r + 2 <= n_rows; r += 2) together<2, true>(matrix, rows + r * n, n);
    for (; r < n_rows; ++r) together<1, true>(matrix, rows + r * n, n);
  }

 private:
  template <std::size_t kTogether, bool kFused>
  static void together(const float* matrix, float* rows, std::size_t n) {
    alignas(64) float out[kTogether * kHeadDimMax];
    std::size_t at = 0;
    for (; at + kSums * V::kFloats <= n; at += kSums * V::kFloats)
      columns<kTogether, kSums, kFused>(matrix + at, rows, n, out + at);
    for (; at < n; at += V::kFloats) columns<kTogether, 1, kFused>(matrix + at, rows, n, out + at);
    __builtin_memcpy(rows, out, kTogether * n * sizeof(float));
  }

  // out [kTogether, n], some columns of it.
  template <std::size_t kTogether, std::size_t kVecs, bool kFused>
  SATCHEL_INLINE void columns(const float* matrix, const float* rows, std::size_t n, float* out) {
    Float sums[kTogether][kVecs];
    unroll<0, kTogether * kVecs>([&](auto k) __attribute__((always_inline)) {
      sums[k.value / kVecs][k.value % kVecs] = V::zero_float();
    });
    for (std::size_t i = 0; i < n; ++i) {
      Float entries[kVecs];
      unroll<0, kVecs>([&](auto k) __attribute__((always_inline)) {
        entries[k.value] = V::load_float(matrix + i * n + k.value * V::kFloats);
      });
      unroll<0, kTogether>([&](auto r) __attribute__((always_inline)) {
        const Float x = V::broadcast_float(rows[r.value * n + i]);
        unroll<0, kVecs>([&](auto k) __attribute__((always_inline)) {
          Float& sum = sums[r.value][k.value];
          if constexpr (kFused)
            sum = V::fma(x, entries[k.value], sum);
          else
            sum = V::add(sum, V::mul(x, entries[k.value]));
        });
      });
    }
    unroll<0, kTogether * kVecs>([&](auto k) __attribute__((always_inline)) {
      V::store(out + k.value / kVecs * n + k.value % kVecs * V::kFloats,
               sums[k.value / kVecs][k.value % kVecs]);
    });
  }
};

}  // namespace
}  // namespace satchel::kernels::cpu
