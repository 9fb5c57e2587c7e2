// Transposing of small squares, with the instructions that every level has. Internal linkage.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/base/half.h"
#include "kernels/cpu/simd_inline.h"

namespace satchel::kernels::cpu {
namespace {

// Eight rows of eight 32-bit values.
SATCHEL_INLINE void transpose_8x8(__m256 (&r)[8]) {
  __m256 a[8];
  for (std::size_t i = 0; i < 8; i += 2) {
    a[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    a[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  __m256 b[8];
  for (std::size_t i = 0; i < 8; i += 4) {
    b[i] = _mm256_shuffle_ps(a[i], a[i + 2], 0x44);
    b[i + 1] = _mm256_shuffle_ps(a[i], a[i + 2], 0xee);
    b[i + 2] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0x44);
    b[i + 3] = _mm256_shuffle_ps(a[i + 1], a[i + 3], 0xee);
  }
  for (std::size_t i = 0; i < 4; ++i) {
    r[i] = _mm256_permute2f128_ps(b[i], b[i + 4], 0x20);
    r[i + 4] = _mm256_permute2f128_ps(b[i], b[i + 4], 0x31);
  }
}

// from [8 rows, 8 words] `from_stride` words apart to [8, 8] `to_stride` words apart
SATCHEL_INLINE void transpose_words(const std::uint32_t* from, std::size_t from_stride,
                                    std::uint32_t* to, std::size_t to_stride) {
  __m256 r[8];
  for (std::size_t i = 0; i < 8; ++i)
    r[i] = _mm256_loadu_ps(reinterpret_cast<const float*>(from + i * from_stride));
  transpose_8x8(r);
  for (std::size_t i = 0; i < 8; ++i)
    _mm256_storeu_ps(reinterpret_cast<float*>(to + i * to_stride), r[i]);
}

// Rows of fp16 to columns of fp32: to[c][t] = from[t][c] for n_tokens rows of head_dim values;
// tokens up to the next multiple of 8 are written as 0.
SATCHEL_INLINE void transpose_halves(const Half* from, std::size_t n_tokens, std::size_t head_dim,
                                     float* to, std::size_t to_stride) {
  for (std::size_t t = 0; t < n_tokens; t += 8) {
    const std::size_t n = n_tokens - t < 8 ? n_tokens - t : 8;
    std::size_t c = 0;
    for (; c + 8 <= head_dim; c += 8) {
      __m256 r[8];
      for (std::size_t i = 0; i < 8; ++i)
        r[i] = i < n ? _mm256_cvtph_ps(_mm_loadu_si128(
                           reinterpret_cast<const __m128i*>(from + (t + i) * head_dim + c)))
                     : _mm256_setzero_ps();
      transpose_8x8(r);
      for (std::size_t i = 0; i < 8; ++i) _mm256_storeu_ps(to + (c + i) * to_stride + t, r[i]);
    }
    for (; c < head_dim; ++c)
      for (std::size_t i = 0; i < 8; ++i)
        to[c * to_stride + t + i] = i < n ? _cvtsh_ss(from[(t + i) * head_dim + c]) : 0.0f;
  }
}

}  // namespace
}  // namespace satchel::kernels::cpu
