// Transposing of small squares, with the instructions that every level has. Internal linkage.
#pragma once

#include <immintrin.h>

#include <cstddef>

#include "kernels/base/half.h"
#include "kernels/cpu/levels/simd_inline.h"

namespace satchel::kernels::cpu {
namespace {

// Eight rows of eight 32-bit values.
SATCHEL_INLINE void transpose_8x8(__m256 (&r)[8]) {
  __m256 a[8], b[8];
  unroll<0, 4>([&](auto i) __attribute__((always_inline)) {
    constexpr std::size_t k = 2 * i.value;
    a[k] = _mm256_unpacklo_ps(r[k], r[k + 1]);
    a[k + 1] = _mm256_unpackhi_ps(r[k], r[k + 1]);
  });
  unroll<0, 2>([&](auto i) __attribute__((always_inline)) {
    constexpr std::size_t k = 4 * i.value;
    b[k] = _mm256_shuffle_ps(a[k], a[k + 2], 0x44);
    b[k + 1] = _mm256_shuffle_ps(a[k], a[k + 2], 0xee);
    b[k + 2] = _mm256_shuffle_ps(a[k + 1], a[k + 3], 0x44);
    b[k + 3] = _mm256_shuffle_ps(a[k + 1], a[k + 3], 0xee);
  });
  unroll<0, 4>([&](auto i) __attribute__((always_inline)) {
    r[i.value] = _mm256_permute2f128_ps(b[i.value], b[i.value + 4], 0x20);
    r[i.value + 4] = _mm256_permute2f128_ps(b[i.value], b[i.value + 4], 0x31);
  });
}

// Four registers of two rows of four values: to[c] is column c of the eight rows.
SATCHEL_INLINE void transpose_8x4(const __m256 (&r)[4], __m256 (&to)[4]) {
  const __m256 a = _mm256_permute2f128_ps(r[0], r[2], 0x20);  // rows 0 and 4, and so on
  const __m256 b = _mm256_permute2f128_ps(r[0], r[2], 0x31);
  const __m256 c = _mm256_permute2f128_ps(r[1], r[3], 0x20);
  const __m256 d = _mm256_permute2f128_ps(r[1], r[3], 0x31);
  const __m256 ab = _mm256_unpacklo_ps(a, b), cd = _mm256_unpacklo_ps(c, d);
  const __m256 ab_high = _mm256_unpackhi_ps(a, b), cd_high = _mm256_unpackhi_ps(c, d);
  to[0] = _mm256_shuffle_ps(ab, cd, 0x44);
  to[1] = _mm256_shuffle_ps(ab, cd, 0xee);
  to[2] = _mm256_shuffle_ps(ab_high, cd_high, 0x44);
  to[3] = _mm256_shuffle_ps(ab_high, cd_high, 0xee);
}
// Four rows of eight values: [8, 4].
SATCHEL_INLINE void transpose_4x8(const __m256 (&r)[4], __m256 (&to)[4]) {
  const __m256 ab = _mm256_unpacklo_ps(r[0], r[1]), cd = _mm256_unpacklo_ps(r[2], r[3]);
  const __m256 ab_high = _mm256_unpackhi_ps(r[0], r[1]), cd_high = _mm256_unpackhi_ps(r[2], r[3]);
  const __m256 first = _mm256_shuffle_ps(ab, cd, 0x44);  // columns 0 and 4, and so on
  const __m256 second = _mm256_shuffle_ps(ab, cd, 0xee);
  const __m256 third = _mm256_shuffle_ps(ab_high, cd_high, 0x44);
  const __m256 fourth = _mm256_shuffle_ps(ab_high, cd_high, 0xee);
  to[0] = _mm256_permute2f128_ps(first, second, 0x20);
  to[1] = _mm256_permute2f128_ps(third, fourth, 0x20);
  to[2] = _mm256_permute2f128_ps(first, second, 0x31);
  to[3] = _mm256_permute2f128_ps(third, fourth, 0x31);
}
// Four rows of four values, two in a register: [4, 4].
SATCHEL_INLINE void transpose_4x4(const __m256 (&r)[2], __m256 (&to)[2]) {
  const __m256 a = _mm256_permute2f128_ps(r[0], r[1], 0x20);
  const __m256 b = _mm256_permute2f128_ps(r[0], r[1], 0x31);
  const auto columns = [](__m256 x) __attribute__((always_inline)) {
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(x), 0xd8));
  };
  to[0] = columns(_mm256_unpacklo_ps(a, b));
  to[1] = columns(_mm256_unpackhi_ps(a, b));
}

// Four rows of four pairs of values: [4, 4] pairs.
SATCHEL_INLINE void transpose_pairs_4x4(__m256 (&r)[4]) {
  const auto low = [](__m256 a, __m256 b) __attribute__((always_inline)) {
    return _mm256_castpd_ps(_mm256_unpacklo_pd(_mm256_castps_pd(a), _mm256_castps_pd(b)));
  };
  const auto high = [](__m256 a, __m256 b) __attribute__((always_inline)) {
    return _mm256_castpd_ps(_mm256_unpackhi_pd(_mm256_castps_pd(a), _mm256_castps_pd(b)));
  };
  const __m256 a = low(r[0], r[1]), b = high(r[0], r[1]);  // columns 0 and 2, 1 and 3
  const __m256 c = low(r[2], r[3]), d = high(r[2], r[3]);
  r[0] = _mm256_permute2f128_ps(a, c, 0x20);
  r[1] = _mm256_permute2f128_ps(b, d, 0x20);
  r[2] = _mm256_permute2f128_ps(a, c, 0x31);
  r[3] = _mm256_permute2f128_ps(b, d, 0x31);
}

// Values [kRows, kColumns] of 32 bits to [kColumns, kRows], in registers of eight.
template <std::size_t kRows, std::size_t kColumns>
SATCHEL_INLINE void transpose_words(const __m256 (&r)[kRows * kColumns / 8],
                                    __m256 (&to)[kRows * kColumns / 8]) {
  constexpr std::size_t kRegisters = kRows * kColumns / 8;
  static_assert(kColumns == 8 || kColumns == 4 || kColumns == 1);
  if constexpr (kColumns == 1) {
    unroll<0, kRegisters>([&](auto i) __attribute__((always_inline)) { to[i.value] = r[i.value]; });
  } else if constexpr (kRegisters == 4 && kColumns == 8) {
    transpose_4x8(r, to);
  } else if constexpr (kRegisters == 2 && kColumns == 8) {
    const __m256 low = _mm256_unpacklo_ps(r[0], r[1]), high = _mm256_unpackhi_ps(r[0], r[1]);
    to[0] = _mm256_permute2f128_ps(low, high, 0x20);
    to[1] = _mm256_permute2f128_ps(low, high, 0x31);
  } else if constexpr (kRegisters == 2) {
    transpose_4x4(r, to);
  } else {
    unroll<0, kRows / 8>([&](auto part) __attribute__((always_inline)) {
      __m256 square[kColumns], transformed[kColumns];
      unroll<0, kColumns>([&](auto i) __attribute__((always_inline)) {
        square[i.value] = r[part.value * kColumns + i.value];
      });
      if constexpr (kColumns == 8) {
        transpose_8x8(square);
        unroll<0, 8>([&](auto i) __attribute__((always_inline)) {
          transformed[i.value] = square[i.value];
        });
      } else {
        transpose_8x4(square, transformed);
      }
      unroll<0, kColumns>([&](auto i) __attribute__((always_inline)) {
        to[i.value * (kRows / 8) + part.value] = transformed[i.value];
      });
    });
  }
}

SATCHEL_INLINE __m256 load_eight(const Half* at) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
}
SATCHEL_INLINE __m256 load_eight(const float* at) {
  return _mm256_loadu_ps(at);
}
SATCHEL_INLINE float load_one(const Half* at) {
  return _cvtsh_ss(*at);
}
SATCHEL_INLINE float load_one(const float* at) {
  return *at;
}

// Rows of fp16 or fp32 to columns of fp32: to[c][t] = from[t][c] for n_tokens rows of head_dim
// values; tokens up to the next multiple of 8 are written as 0.
template <class From>
SATCHEL_INLINE void transpose_rows(const From* from, std::size_t n_tokens, std::size_t head_dim,
                                   float* to, std::size_t to_stride) {
  for (std::size_t t = 0; t < n_tokens; t += 8) {
    const std::size_t n = n_tokens - t < 8 ? n_tokens - t : 8;
    std::size_t c = 0;
    for (; c + 8 <= head_dim; c += 8) {
      __m256 r[8];
      unroll<0, 8>([&](auto i) __attribute__((always_inline)) {
        r[i.value] =
            i.value < n ? load_eight(from + (t + i.value) * head_dim + c) : _mm256_setzero_ps();
      });
      transpose_8x8(r);
      unroll<0, 8>([&](auto i) __attribute__((always_inline)) {
        _mm256_storeu_ps(to + (c + i.value) * to_stride + t, r[i.value]);
      });
    }
    for (; c < head_dim; ++c)
      for (std::size_t i = 0; i < 8; ++i)
        to[c * to_stride + t + i] = i < n ? load_one(from + (t + i) * head_dim + c) : 0.0f;
  }
}

}  // namespace
}  // namespace satchel::kernels::cpu
