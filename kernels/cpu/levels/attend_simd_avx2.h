// AVX2 operations for the attention kernels and the encoder, in addition to simd_avx2.h. Everything
// has internal linkage.
#pragma once

#include "kernels/cpu/levels/dot4_avx2.h"
#include "kernels/cpu/levels/transpose_avx2.h"

namespace satchel::kernels::cpu {
namespace {

struct AttendAvx2 : FoursAvx2 {
  static constexpr std::size_t kRowTile = 6;  // times two registers of sums: 12 of 16

  // kWords words of 32 bits, repeated to fill the register.
  template <std::size_t kWords>
  SATCHEL_INLINE Int load_words(const std::uint32_t* at) {
    if constexpr (kWords == 2) {
      long long both;
      __builtin_memcpy(&both, at, sizeof both);
      return _mm256_set1_epi64x(both);
    } else if constexpr (kWords == 4)
      return _mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
    else
      return load(at);
  }
  // Register `part` of a row of kWords words, of which kFilled are there and the others become 0.
  template <std::size_t kFilled, std::size_t kWords>
  SATCHEL_INLINE Int load_filled(const std::byte* at, std::size_t part) {
    static_assert(kWords == 8 || kWords == 16);
    constexpr int kLast = kFilled % 8;  // of the last register
    if (part + 1 < kWords / 8) return load(at);
    const Int lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_maskload_epi32(reinterpret_cast<const int*>(at + 32 * part),
                                 _mm256_cmpgt_epi32(_mm256_set1_epi32(kLast), lanes));
  }
  // Words of single bits, kFilled / 2 of each kWords / 2, each spread over two: the pairs of bits
  // 0 to 7 lie in the lower bytes of the first one's halves, those of bits 8 to 15 in the second's.
  template <std::size_t kFilled, std::size_t kWords>
  SATCHEL_INLINE Int spread_bits(const std::byte* at) {
    static_assert(kFilled == kWords || (kFilled == 6 && kWords == 8));
    const auto* from = reinterpret_cast<const int*>(at);
    const __m128i words = kFilled == kWords
                              ? _mm_loadu_si128(reinterpret_cast<const __m128i*>(at))
                              : _mm_maskload_epi32(from, _mm_setr_epi32(-1, -1, -1, 0));
    const Int first = _mm256_cvtepu32_epi64(words);
    return _mm256_or_si256(first, _mm256_slli_epi64(first, 24));
  }
  // Words from kFirst on, and from the first one on again after kWords of them; both are multiples
  // of four.
  template <std::size_t kWords, std::size_t kFirst>
  SATCHEL_INLINE Int load_around(const std::byte* at) {
    const auto* const fours = reinterpret_cast<const __m128i*>(at);
    return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(fours + kFirst / 4)),
                                   _mm_loadu_si128(fours + (kFirst + 4) % kWords / 4), 1);
  }
  SATCHEL_INLINE Int shift_right_each(Int words, Int bits) {
    return _mm256_srlv_epi32(words, bits);
  }
  // Two 16-bit words, repeated to fill the register.
  SATCHEL_INLINE Int broadcast_pair(const std::int16_t* at) {
    std::int32_t both;
    __builtin_memcpy(&both, at, sizeof both);
    return _mm256_set1_epi32(both);
  }
  // Bytes to 16-bit words.
  SATCHEL_INLINE Int widen_bytes(const std::byte* at) {
    return _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
  }

  // Per 128 bits: sums of the four words of a, b, c and d.
  SATCHEL_INLINE Int add_words(Int a, Int b, Int c, Int d) {
    const Int ab = _mm256_add_epi32(_mm256_unpacklo_epi32(a, b), _mm256_unpackhi_epi32(a, b));
    const Int cd = _mm256_add_epi32(_mm256_unpacklo_epi32(c, d), _mm256_unpackhi_epi32(c, d));
    return _mm256_add_epi32(_mm256_unpacklo_epi64(ab, cd), _mm256_unpackhi_epi64(ab, cd));
  }
  SATCHEL_INLINE Float add_words(Float a, Float b, Float c, Float d) {
    const Float ab = _mm256_add_ps(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
    const Float cd = _mm256_add_ps(_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
    return _mm256_add_ps(
        _mm256_castpd_ps(_mm256_unpacklo_pd(_mm256_castps_pd(ab), _mm256_castps_pd(cd))),
        _mm256_castpd_ps(_mm256_unpackhi_pd(_mm256_castps_pd(ab), _mm256_castps_pd(cd))));
  }

  // Sums of the words of 16 rows of kWords words each, which lie one after another in `partial`.
  template <std::size_t kWords>
  SATCHEL_INLINE void sum_rows(const Int* partial, float* sums) {
    unroll<0, 2>([&](auto half) __attribute__((always_inline)) {
      const Int* row = partial + half.value * kWords;
      Int out;
      if constexpr (kWords == 2) {
        out = _mm256_permute4x64_epi64(_mm256_hadd_epi32(row[0], row[1]), 0xd8);
      } else if constexpr (kWords == 4) {
        const Int mixed = add_words(row[0], row[1], row[2], row[3]);
        out = _mm256_permutevar8x32_epi32(mixed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
      } else {
        const Int a = add_words(row[0], row[1], row[2], row[3]);
        const Int b = add_words(row[4], row[5], row[6], row[7]);
        out = add(_mm256_permute2x128_si256(a, b, 0x20), _mm256_permute2x128_si256(a, b, 0x31));
      }
      _mm256_storeu_ps(sums + 8 * half.value, _mm256_cvtepi32_ps(out));
    });
  }
  // The sum of each of 16 registers, or of 4.
  template <std::size_t kCount = 16>
  SATCHEL_INLINE void sum_registers(const Float* partial, float* sums) {
    if constexpr (kCount == 4) {
      const Float four = add_words(partial[0], partial[1], partial[2], partial[3]);
      _mm_storeu_ps(sums, _mm256_castps256_ps128(add(four, _mm256_permute2f128_ps(four, four, 1))));
      return;
    }
    unroll<0, 2>([&](auto half) __attribute__((always_inline)) {
      const Float* p = partial + 8 * half.value;
      const Float a = add_words(p[0], p[1], p[2], p[3]), b = add_words(p[4], p[5], p[6], p[7]);
      _mm256_storeu_ps(sums + 8 * half.value,
                       add(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31)));
    });
  }
  SATCHEL_INLINE Float max_words(Float a, Float b, Float c, Float d) {
    const Float ab = max(_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b));
    const Float cd = max(_mm256_unpacklo_ps(c, d), _mm256_unpackhi_ps(c, d));
    return max(_mm256_castpd_ps(_mm256_unpacklo_pd(_mm256_castps_pd(ab), _mm256_castps_pd(cd))),
               _mm256_castpd_ps(_mm256_unpackhi_pd(_mm256_castps_pd(ab), _mm256_castps_pd(cd))));
  }
  template <std::size_t kCount = 16>
  SATCHEL_INLINE void max_registers(const Float* partial, float* most) {
    if constexpr (kCount == 4) {
      const Float four = max_words(partial[0], partial[1], partial[2], partial[3]);
      _mm256_storeu_ps(most, max(four, _mm256_permute2f128_ps(four, four, 1)));
      return;
    }
    unroll<0, 2>([&](auto half) __attribute__((always_inline)) {
      const Float* p = partial + 8 * half.value;
      const Float a = max_words(p[0], p[1], p[2], p[3]), b = max_words(p[4], p[5], p[6], p[7]);
      _mm256_storeu_ps(most + 8 * half.value,
                       max(_mm256_permute2f128_ps(a, b, 0x20), _mm256_permute2f128_ps(a, b, 0x31)));
    });
  }
  // Of each of 16 registers (of the first 4): by how much to multiply so that its largest value,
  // which is not negative, becomes 32767, and the inverse; 0 and 0 where it is too small for that.
  template <std::size_t kCount = 16>
  SATCHEL_INLINE void units_of_registers(const Float* partial, float* units, float* factors) {
    alignas(64) float largest[16];
    max_registers<kCount>(partial, largest);
    unroll<0, (kCount + kFloats - 1) / kFloats>([&](auto k) __attribute__((always_inline)) {
      const Float most = load_float(largest + k.value * kFloats);
      const Float range = broadcast_float(32767.0f);
      store(units + k.value * kFloats,
            _mm256_and_ps(_mm256_cmp_ps(most, broadcast_float(1e-30f), _CMP_GT_OQ),
                          div(range, most)));
      store(factors + k.value * kFloats,
            _mm256_and_ps(_mm256_cmp_ps(most, broadcast_float(1e-30f), _CMP_GT_OQ),
                          div(most, range)));
    });
  }
  // Register i of what lies in registers of eight.
  SATCHEL_INLINE Float joined(const __m256* eights, std::size_t i) { return eights[i]; }
  // Element i becomes element i xor kDistance.
  template <std::size_t kDistance>
  SATCHEL_INLINE Float swapped(Float a) {
    if constexpr (kDistance == 4)
      return _mm256_permute2f128_ps(a, a, 1);
    else
      return _mm256_permute_ps(a, kDistance == 2 ? 0x4e : 0xb1);
  }
  // a · 2^n for n in the lowest bits of `whole`, within what an fp32 can be.
  SATCHEL_INLINE Float add_to_exponent(Float a, Float whole) {
    return _mm256_castsi256_ps(
        add(_mm256_castps_si256(a), _mm256_slli_epi32(_mm256_castps_si256(whole), 23)));
  }
  SATCHEL_INLINE Float magnitude(Float a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), a); }
  SATCHEL_INLINE float largest(Float a) {
    __m128 m = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
    m = _mm_max_ps(m, _mm_movehl_ps(m, m));
    return _mm_cvtss_f32(_mm_max_ss(m, _mm_movehdup_ps(m)));
  }
  // To 16 bits, for store_pairs(): in this order only there.
  SATCHEL_INLINE Int packed(Int a, Int b) { return _mm256_packs_epi32(a, b); }
  // Pairs [kWords, kPairs] of 16-bit values, as packed() leaves them, to [kPairs, kWords].
  template <std::size_t kWords, std::size_t kPairs>
  SATCHEL_INLINE void store_pairs(const Int* packed, std::uint32_t* to) {
    constexpr std::size_t kRegisters = kWords * kPairs / kFloats;
    __m256 in_order[kRegisters], out[kRegisters];
    unroll<0, kRegisters>([&](auto i) __attribute__((always_inline)) {
      in_order[i.value] = _mm256_castsi256_ps(_mm256_permute4x64_epi64(packed[i.value], 0xd8));
    });
    transpose_words<kWords, kPairs>(in_order, out);
    unroll<0, kRegisters>([&](auto i) __attribute__((always_inline)) {
      store_int(to + i.value * kFloats, _mm256_castps_si256(out[i.value]));
    });
  }
  SATCHEL_INLINE void store_int(void* at, Int a) {
    _mm256_storeu_si256(static_cast<__m256i*>(at), a);
  }
  // One word of each of kFloats rows that lie `stride` bytes apart.
  SATCHEL_INLINE Int gather_words(const std::byte* at, std::size_t stride) {
    const Int rows = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_i32gather_epi32(
        reinterpret_cast<const int*>(at),
        _mm256_mullo_epi32(rows, _mm256_set1_epi32(static_cast<int>(stride))), 1);
  }
  SATCHEL_INLINE Int field(Int words, unsigned shift, unsigned mask) {
    return _mm256_and_si256(_mm256_srl_epi32(words, _mm_cvtsi32_si128(static_cast<int>(shift))),
                            _mm256_set1_epi32(static_cast<int>(mask)));
  }
  // a for the first n elements, else b
  SATCHEL_INLINE Float first_floats(std::size_t n, Float a, Float b) {
    const Int lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    const Int keep = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), lanes);
    return _mm256_blendv_ps(b, a, _mm256_castsi256_ps(keep));
  }
  // a for elements whose bit is set, else b
  SATCHEL_INLINE Float pick_floats(std::uint32_t bits, Float a, Float b) {
    const Int lanes = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    const Int here = _mm256_and_si256(_mm256_set1_epi32(static_cast<int>(bits)), lanes);
    return _mm256_blendv_ps(b, a, _mm256_castsi256_ps(_mm256_cmpeq_epi32(here, lanes)));
  }
  // a, 0 where it is NaN
  SATCHEL_INLINE Float without_nan(Float a) {
    return _mm256_and_ps(a, _mm256_cmp_ps(a, a, _CMP_ORD_Q));
  }
  // fp16, rounded as kMode says (_MM_FROUND_…)
  template <int kMode>
  SATCHEL_INLINE void store_half(Half* to, Float a) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_cvtps_ph(a, kMode | _MM_FROUND_NO_EXC));
  }
  // Rounded to the nearest, ties to even; 0 <= a <= 255.
  SATCHEL_INLINE void store_bytes(std::uint8_t* to, Float a) {
    const Int codes = _mm256_cvtps_epi32(a);
    const __m128i words =
        _mm_packs_epi32(_mm256_castsi256_si128(codes), _mm256_extracti128_si256(codes, 1));
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packus_epi16(words, words));
  }
  // to[i] += a[i] in double
  SATCHEL_INLINE void add_to_doubles(double* to, Float a) {
    for (int half = 0; half < 2; ++half) {
      const __m128 four = half == 0 ? _mm256_castps256_ps128(a) : _mm256_extractf128_ps(a, 1);
      _mm256_storeu_pd(to + 4 * half,
                       _mm256_add_pd(_mm256_loadu_pd(to + 4 * half), _mm256_cvtps_pd(four)));
    }
  }
};

}  // namespace
}  // namespace satchel::kernels::cpu
