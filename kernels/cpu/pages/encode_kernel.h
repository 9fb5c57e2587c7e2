// The quantiser U(b), many columns at a time. Each step equals the reference's (reference/
// codec_affine.h): one fp32 rounding, true division, halves rounded down and up. So it gives the
// same bytes.
#pragma once

#include "kernels/contract/row_order.h"
#include "kernels/cpu/dispatch/encode_table.h"
#include "kernels/cpu/levels/simd_inline.h"
#include "kernels/cpu/levels/transpose_avx2.h"
#include "kernels/cpu/pages/encode_range_kernel.h"
#include "kernels/cpu/pages/mixed_bit_encode_kernel.h"

namespace satchel::kernels::cpu {
namespace {

template <class V>
struct Encode {
  using Float = typename V::Float;
  static constexpr std::size_t kColumnsMax = kHeadDimMax;

  // Range and codes of the columns c … c + kFloats - 1 of one group.
  template <bool kSymmetric, bool kClips>
  SATCHEL_INLINE void columns(const EncodeJob& job, const float* x, std::size_t n_rows,
                              std::size_t c, Half* scales, Half* zeros, std::uint8_t* codes) {
    using Ranges = EncodeRange<V, kSymmetric>;
    const std::size_t n = job.n_columns;
    alignas(64) float strip[kClips ? kColumnsMax * V::kFloats : 1];  // side by side: read again
    Float low = V::load_float(x + c), high = low;
    if constexpr (kClips) V::store(strip, low);
    for (std::size_t r = 1; r < n_rows; ++r) {
      const Float value = V::load_float(x + r * n + c);
      low = V::min(low, value);
      high = V::max(high, value);
      if constexpr (kClips) V::store(strip + r * V::kFloats, value);
    }
    const typename Ranges::Coding coding(job.bits);
    typename Ranges::Range range;
    if constexpr (kClips)
      range = Ranges::best_range(strip, n_rows, low, high, coding);
    else
      range = Ranges::widest(low, high, coding);
    V::template store_half<_MM_FROUND_TO_NEAREST_INT>(scales + c, range.scale);  // exact
    V::template store_half<_MM_FROUND_TO_NEAREST_INT>(zeros + c, range.zero);
    for (std::size_t r = 0; r < n_rows; ++r)
      V::store_bytes(codes + r * kColumnsMax + c,
                     Ranges::code_of(V::load_float(x + r * n + c), range, coding));
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
  SATCHEL_INLINE void pack_any(const EncodeJob& job, const std::uint8_t* codes, std::size_t bits,
                               std::byte* row) {
    std::uint32_t words[kColumnsMax / 4] = {};
    for (std::size_t c = 0; c < job.n_columns; ++c) {
      const std::size_t slot = job.slots[c];
      words[slot * bits / 32] |= std::uint32_t{codes[c]} << bit_of_slot(bits, slot);
    }
    __builtin_memcpy(row, words, row_bytes(bits, job.n_columns));
  }

  SATCHEL_INLINE void pack_row(const EncodeJob& job, const std::uint8_t* codes, std::size_t bits,
                               std::byte* row) {
    // Each of the four threads that read a block has whole words.
    if (job.n_columns % 128 % (128 / bits) != 0) return pack_any(job, codes, bits, row);
    for (std::size_t c = 0; c < job.n_columns; c += 128) {
      const std::size_t n = job.n_columns - c < 128 ? job.n_columns - c : 128;
      pack_block(codes + c, n, bits, row + c * bits / 8);
    }
  }

  // The lowest bits of a row of codes, which are shifted out; n is a multiple of 16.
  SATCHEL_INLINE void split_row(std::uint8_t* codes, std::size_t n, std::uint8_t* low) {
    for (std::size_t c = 0; c < n; c += 16) {
      auto* const at = reinterpret_cast<__m128i*>(codes + c);
      const __m128i sixteen = _mm_load_si128(at);
      _mm_store_si128(reinterpret_cast<__m128i*>(low + c),
                      _mm_and_si128(sixteen, _mm_set1_epi8(1)));
      _mm_store_si128(at, _mm_and_si128(_mm_srli_epi16(sixteen, 1), _mm_set1_epi8(3)));
    }
  }
  SATCHEL_INLINE void pack_rows(const EncodeJob& job, std::size_t first, std::size_t n_rows,
                                std::uint8_t (*codes)[kColumnsMax]) {
    const std::size_t bits = job.bits == 3 ? 2 : job.bits;
    const std::size_t stride = row_bytes(bits, job.n_columns);
    const std::size_t low_stride = row_bytes(1, job.n_columns);
    alignas(16) std::uint8_t low[kColumnsMax];
    for (std::size_t r = 0; r < n_rows; ++r) {
      if (job.low_codes != nullptr) {
        split_row(codes[r], job.n_columns, low);
        pack_row(job, low, 1, job.low_codes + (first + r) * low_stride);
      }
      pack_row(job, codes[r], bits, job.codes + (first + r) * stride);
    }
  }

  template <bool kSymmetric, bool kClips>
  static void run_kind(const EncodeJob& job) {
    alignas(64) std::uint8_t codes[kColumnsMax][kColumnsMax];  // a group: up to a whole axis
    alignas(64) Half scales[kColumnsMax], zeros[kColumnsMax];
    for (std::size_t first = 0; first < job.n_rows; first += job.group) {
      const std::size_t n_rows = job.n_rows - first < job.group ? job.n_rows - first : job.group;
      for (std::size_t c = 0; c < job.n_columns; c += V::kFloats)
        columns<kSymmetric, kClips>(job, job.x + first * job.n_columns, n_rows, c, scales, zeros,
                                    codes[0]);
      const std::size_t plane = first / job.group * job.n_columns;
      for (std::size_t c = 0; c < job.n_columns; ++c) {
        job.scales[plane + job.slots[c]] = scales[c];
        if constexpr (!kSymmetric) job.zeros[plane + job.slots[c]] = zeros[c];
      }
      pack_rows(job, first, n_rows, codes);
    }
  }
  static void run(const EncodeJob& job) {
    const bool symmetric = job.zeros == nullptr;
    const auto kind = job.clips ? (symmetric ? run_kind<true, true> : run_kind<false, true>)
                                : (symmetric ? run_kind<true, false> : run_kind<false, false>);
    kind(job);
  }

  // The butterflies of transform_rows(), many rows of it at a time: the same sums in the same
  // order.
  static void transform_columns(float* x, std::size_t n_rows, std::size_t n_columns,
                                std::size_t block, float factor) {
    const Float norm = V::broadcast_float(factor);
    for (std::size_t distance = 1; distance < block; distance *= 2) {
      const bool is_last = 2 * distance == block;
      for (std::size_t r = 0; r < n_rows; ++r) {
        if (r % (2 * distance) >= distance) continue;
        float *const first = x + r * n_columns, *const second = first + distance * n_columns;
        for (std::size_t c = 0; c < n_columns; c += V::kFloats) {
          const Float a = V::load_float(first + c), b = V::load_float(second + c);
          const Float sum = V::add(a, b), difference = V::sub(a, b);
          V::store(first + c, is_last ? V::mul(sum, norm) : sum);
          V::store(second + c, is_last ? V::mul(difference, norm) : difference);
        }
      }
    }
  }

  SATCHEL_INLINE Float clamped(Float x, float most) {
    return V::max(V::min(x, V::broadcast_float(most)), V::broadcast_float(-most));
  }

  static void load(const Half* from, std::size_t n, float* to) {
    for (std::size_t i = 0; i < n; i += V::kFloats)
      V::store(to + i, clamped(V::load_half(from + i), 60000));
  }
  static void clamp(float* x, std::size_t n) {
    for (std::size_t i = 0; i < n; i += V::kFloats)
      V::store(x + i, clamped(V::load_float(x + i), 60000));
  }
  static void load_transformed(const Half* from, std::size_t n_rows, std::size_t n_columns,
                               float* to, std::size_t to_stride) {
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
    for (; i + V::kFloats <= n; i += V::kFloats)
      V::template store_half<_MM_FROUND_TO_NEAREST_INT>(
          to + i, clamped(V::without_nan(V::load_float(from + i)), 65504));
    if (i == n) return;
    float rest[V::kFloats] = {};
    Half halves[V::kFloats];
    __builtin_memcpy(rest, from + i, (n - i) * sizeof(float));
    V::template store_half<_MM_FROUND_TO_NEAREST_INT>(
        halves, clamped(V::without_nan(V::load_float(rest)), 65504));
    __builtin_memcpy(to + i, halves, (n - i) * sizeof(Half));
  }
};

template <class V>
constexpr EncodeTable kEncodeTable = {.encode = Encode<V>::run,
                                      .encode_mixed_bit = MixedBitEncode<V>::run,
                                      .load = Encode<V>::load,
                                      .clamp = Encode<V>::clamp,
                                      .load_transformed = Encode<V>::load_transformed,
                                      .transform_columns = Encode<V>::transform_columns,
                                      .all_finite = Encode<V>::all_finite,
                                      .store = Encode<V>::store};

}  // namespace
}  // namespace satchel::kernels::cpu
