// The quantiser U(b), many columns at a time. Each step is the reference's own (reference/
// codec_affine.h): one rounding of fp32 each, a true division, halves rounded down and up, so that
// the bytes are the same.
#pragma once

#include "kernels/contract/row_order.h"
#include "kernels/cpu/encode_table.h"
#include "kernels/cpu/simd_inline.h"
#include "kernels/cpu/transpose_avx2.h"

namespace satchel::kernels::cpu {
namespace {

template <class V>
struct Encode {
  using Float = typename V::Float;
  static constexpr std::size_t kColumnsMax = 256;

  // Range and codes of the columns c … c + kLanes - 1 of one group.
  SATCHEL_INLINE void columns(const EncodeJob& job, const float* x, std::size_t n_rows,
                              std::size_t c, Half* scales, Half* zeros, std::uint8_t* codes) {
    const std::size_t n = job.n_columns;
    Float low = V::load_float(x + c), high = low;
    for (std::size_t r = 1; r < n_rows; ++r) {
      const Float value = V::load_float(x + r * n + c);
      low = V::min(low, value);
      high = V::max(high, value);
    }
    const Float top = V::broadcast_float(static_cast<float>((1u << job.bits) - 1));
    const Float none = V::zero_float();
    // + 0 makes a -0 a +0, of which the minimum of both signs may be either
    V::template store_half<_MM_FROUND_TO_NEG_INF>(zeros + c, V::add(low, none));
    const Float zero = V::load_half(zeros + c);
    V::template store_half<_MM_FROUND_TO_POS_INF>(scales + c,
                                                  V::add(V::div(V::sub(high, zero), top), none));
    const Float scale = V::load_half(scales + c);
    for (std::size_t r = 0; r < n_rows; ++r) {
      const Float code = V::div(V::sub(V::load_float(x + r * n + c), zero), scale);
      // 0 / 0 where all values are equal: max gives its second operand for a NaN
      V::store_bytes(codes + r * kColumnsMax + c, V::min(V::max(code, none), top));
    }
  }

  // Eight codes to the four pairs they make: pair t of step m is entries 8·m + 2·t and the next.
  SATCHEL_INLINE __m128i pairs_of(const std::uint8_t* codes, bool bytes) {
    const __m128i eight = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes));
    return bytes ? _mm_cvtepu16_epi32(eight) : _mm_cvtepu8_epi16(eight);
  }

  // Up to 128 codes to words [t][j]; see contract/row_order.h.
  SATCHEL_INLINE void pack_block(const std::uint8_t* codes, std::size_t n, std::size_t bits,
                                 std::byte* row) {
    const std::size_t in_word = 32 / bits, n_words = n / in_word / 4;
    const int step = bits == 8 ? 16 : static_cast<int>(bits);
    for (std::size_t j = 0; j < n_words; ++j) {
      __m128i words = _mm_setzero_si128();
      for (std::size_t i = 0; i < in_word / 2; ++i)
        words = _mm_or_si128(words,
                             _mm_sll_epi32(pairs_of(codes + 8 * (j * in_word / 2 + i), bits == 8),
                                           _mm_cvtsi32_si128(static_cast<int>(i) * step)));
      alignas(16) std::uint32_t of_thread[4];
      _mm_store_si128(reinterpret_cast<__m128i*>(of_thread), words);
      for (std::size_t t = 0; t < 4; ++t)
        __builtin_memcpy(row + (t * n_words + j) * 4, &of_thread[t], 4);
    }
  }

  // The same for any n: code by code.
  SATCHEL_INLINE void pack_any(const EncodeJob& job, const std::uint8_t* codes, std::byte* row) {
    std::uint32_t words[kColumnsMax / 4] = {};
    for (std::size_t c = 0; c < job.n_columns; ++c) {
      const std::size_t slot = job.slots[c];
      words[slot * job.bits / 32] |= std::uint32_t{codes[c]} << bit_of_slot(job.bits, slot);
    }
    __builtin_memcpy(row, words, job.n_columns * job.bits / 8);
  }

  SATCHEL_INLINE void pack_row(const EncodeJob& job, const std::uint8_t* codes, std::byte* row) {
    // Each of the four threads that read a block has whole words.
    if (job.n_columns % 128 % (128 / job.bits) != 0) return pack_any(job, codes, row);
    for (std::size_t c = 0; c < job.n_columns; c += 128) {
      const std::size_t n = job.n_columns - c < 128 ? job.n_columns - c : 128;
      pack_block(codes + c, n, job.bits, row + c * job.bits / 8);
    }
  }

  static void run(const EncodeJob& job) {
    alignas(64) std::uint8_t codes[kColumnsMax][kColumnsMax];  // a group: up to a whole axis
    alignas(64) Half scales[kColumnsMax], zeros[kColumnsMax];
    const std::size_t row_bytes = job.n_columns * job.bits / 8;
    for (std::size_t first = 0; first < job.n_rows; first += job.group) {
      const std::size_t n_rows = job.n_rows - first < job.group ? job.n_rows - first : job.group;
      for (std::size_t c = 0; c < job.n_columns; c += V::kLanes)
        columns(job, job.x + first * job.n_columns, n_rows, c, scales, zeros, codes[0]);
      const std::size_t plane = first / job.group * job.n_columns;
      for (std::size_t c = 0; c < job.n_columns; ++c) {
        job.scales[plane + job.slots[c]] = scales[c];
        job.zeros[plane + job.slots[c]] = zeros[c];
      }
      for (std::size_t r = 0; r < n_rows; ++r)
        pack_row(job, codes[r], job.codes + (first + r) * row_bytes);
    }
  }

  SATCHEL_INLINE Float clamped(Float x, float most) {
    return V::max(V::min(x, V::broadcast_float(most)), V::broadcast_float(-most));
  }

  static void load(const Half* from, std::size_t n, float* to) {
    for (std::size_t i = 0; i < n; i += V::kLanes)
      V::store(to + i, clamped(V::load_half(from + i), 60000));
  }
  static void clamp(float* x, std::size_t n) {
    for (std::size_t i = 0; i < n; i += V::kLanes)
      V::store(x + i, clamped(V::load_float(x + i), 60000));
  }
  static void load_turned(const Half* from, std::size_t n_rows, std::size_t n_columns, float* to,
                          std::size_t to_stride) {
    transpose_rows(from, n_rows, n_columns, to, to_stride);
    clamp(to, n_columns * to_stride);
  }

  // n is a multiple of 8.
  static bool all_finite(const Half* x, std::size_t n) {
    const __m128i exponent = _mm_set1_epi16(0x7c00);
    __m128i found = _mm_setzero_si128();
    for (std::size_t i = 0; i < n; i += 8) {
      const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i));
      found = _mm_or_si128(found, _mm_cmpeq_epi16(_mm_and_si128(halves, exponent), exponent));
    }
    return _mm_movemask_epi8(found) == 0;
  }

  static void store(const float* from, std::size_t n, Half* to) {
    std::size_t i = 0;
    for (; i + V::kLanes <= n; i += V::kLanes)
      V::template store_half<_MM_FROUND_TO_NEAREST_INT>(
          to + i, clamped(V::without_nan(V::load_float(from + i)), 65504));
    if (i == n) return;
    float rest[V::kLanes] = {};
    Half halves[V::kLanes];
    __builtin_memcpy(rest, from + i, (n - i) * sizeof(float));
    V::template store_half<_MM_FROUND_TO_NEAREST_INT>(
        halves, clamped(V::without_nan(V::load_float(rest)), 65504));
    __builtin_memcpy(to + i, halves, (n - i) * sizeof(Half));
  }
};

}  // namespace
}  // namespace satchel::kernels::cpu
