// Rows times a matrix (contract/turn.h, Turn::basis): sums in registers, each from the first entry on, a
// product and a sum rounded apart, so that keys become the reference's bits.
#pragma once

#include <cstddef>

#include "kernels/contract/page_layout.h"
#include "kernels/cpu/simd_inline.h"

namespace satchel::kernels::cpu {
namespace {

template <class V>
struct BasisRows {
  using Float = typename V::Float;
  static constexpr std::size_t kSums = 4;  // registers at a time; head_dim is a multiple of 16

  // rows [n_rows, n] = rows · matrix [n, n]; n is a multiple of 16, at most kHeadDimMax.
  static void run(const float* matrix, float* rows, std::size_t n_rows, std::size_t n) {
    alignas(64) float out[kHeadDimMax];
    for (std::size_t r = 0; r < n_rows; ++r) {
      float* const row = rows + r * n;
      std::size_t at = 0;
      for (; at + kSums * V::kLanes <= n; at += kSums * V::kLanes)
        columns<kSums>(matrix + at, row, n, out + at);
      for (; at < n; at += V::kLanes) columns<1>(matrix + at, row, n, out + at);
      __builtin_memcpy(row, out, n * sizeof(float));
    }
  }

 private:
  template <std::size_t kVecs>
  SATCHEL_INLINE void columns(const float* matrix, const float* row, std::size_t n, float* out) {
    Float sums[kVecs];
    unroll<0, kVecs>([&](auto k)
                         __attribute__((always_inline)) { sums[k.value] = V::zero_float(); });
    for (std::size_t i = 0; i < n; ++i) {
      const Float x = V::broadcast_float(row[i]);
      unroll<0, kVecs>([&](auto k) __attribute__((always_inline)) {
        const Float entry = V::load_float(matrix + i * n + k.value * V::kLanes);
        sums[k.value] = V::add(sums[k.value], V::mul(x, entry));
      });
    }
    unroll<0, kVecs>([&](auto k) __attribute__((always_inline)) {
      V::store(out + k.value * V::kLanes, sums[k.value]);
    });
  }
};

}  // namespace
}  // namespace satchel::kernels::cpu
