// The Hadamard transform of rows (contract/transform.h): the butterflies of transform_rows(), a
// register at a time, with the same bits. Attention transforms each of its queries and sums a few
// times per call.
#pragma once

#include <cstddef>

#include "kernels/contract/transform.h"
#include "kernels/cpu/levels/simd_inline.h"

namespace satchel::kernels::cpu {
namespace {

template <class V>
struct HadamardRows {
  using Float = typename V::Float;

  // rows [n_rows, head_dim], in place; head_dim is a multiple of 16.
  static void transform(float* rows, std::size_t n_rows, std::size_t head_dim) {
    const std::size_t n =
        head_dim & (~head_dim + 1);  // hadamard_block(), which has external linkage
    const auto norm = static_cast<float>(1 / __builtin_sqrt(static_cast<double>(n)));
    for (std::size_t i = 0; i < n_rows * head_dim; i += n) block(rows + i, n, norm);
  }

 private:
  SATCHEL_INLINE void block(float* x, std::size_t n, float norm) {
    for (std::size_t i = 0; i < n; i += V::kFloats)
      V::store(x + i, within_register<1>(V::load_float(x + i)));
    for (std::size_t distance = V::kFloats; distance < n; distance *= 2)
      for (std::size_t first = 0; first < n; first += 2 * distance)
        for (std::size_t i = first; i < first + distance; i += V::kFloats) {
          const Float a = V::load_float(x + i), b = V::load_float(x + i + distance);
          V::store(x + i, V::add(a, b));
          V::store(x + i + distance, V::sub(a, b));
        }
    for (std::size_t i = 0; i < n; i += V::kFloats)
      V::store(x + i, V::mul(V::load_float(x + i), V::broadcast_float(norm)));
  }

  // Elements whose bit kDistance is set are subtracted from their partners, others added to them.
  template <std::size_t kDistance>
  SATCHEL_INLINE Float within_register(Float a) {
    if constexpr (kDistance == V::kFloats) {
      return a;
    } else {
      static constexpr Signs<kDistance> kSigns;
      const Float sum = V::fma(a, V::load_float(kSigns.of), V::template swapped<kDistance>(a));
      return within_register<2 * kDistance>(sum);
    }
  }
  template <std::size_t kDistance>
  struct Signs {
    alignas(64) float of[V::kFloats] = {};
    constexpr Signs() {
      for (std::size_t i = 0; i < V::kFloats; ++i) of[i] = (i & kDistance) != 0 ? -1.0f : 1.0f;
    }
  };
};

}  // namespace
}  // namespace satchel::kernels::cpu
