// AVX-512 operations for the attention kernels and the encoder, in addition to simd_avx512.h.
// Everything has internal linkage.
#pragma once

#include "kernels/cpu/levels/dot4_avx512.h"
#include "kernels/cpu/levels/transpose_avx2.h"

namespace satchel::kernels::cpu {
namespace {

// Of register i of pairs [kPairs, kWords]: in which two registers of pairs [kWords, kPairs] each
// pair is found, and at which of their 32 places, where packed() left them.
template <std::size_t kWords, std::size_t kPairs>
struct PairOrder {
  static constexpr std::size_t kRegisters = kWords * kPairs / 16;
  alignas(64) std::int32_t places[kRegisters][16] = {};
  std::uint16_t from[kRegisters][(kRegisters + 1) / 2] = {};

  constexpr PairOrder() {
    for (std::size_t k = 0; k < kWords * kPairs; ++k) {
      const std::size_t pair = k % kWords * kPairs + k / kWords;  // where it is word by word
      const std::size_t in = pair % 16, place = in % 8 / 2 * 4 + in / 8 * 2 + in % 2;
      places[k / 16][k % 16] = static_cast<std::int32_t>(pair / 16 % 2 * 16 + place);
      auto& bits = from[k / 16][pair / 32];
      bits = static_cast<std::uint16_t>(bits | 1u << k % 16);
    }
  }
};

struct AttendAvx512 : FoursAvx512 {
  static constexpr std::size_t kRowTile = 12;  // times two registers of sums: 24 of 32

  // kWords words of 32 bits, repeated to fill the register.
  template <std::size_t kWords>
  SATCHEL_INLINE Int load_words(const std::uint32_t* at) {
    if constexpr (kWords == 2) {
      long long both;
      __builtin_memcpy(&both, at, sizeof both);
      return _mm512_set1_epi64(both);
    } else if constexpr (kWords == 4)
      return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
    else if constexpr (kWords == 8)
      return _mm512_broadcast_i64x4(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
    else
      return load(at);
  }
  // Rows of kWords words (two of 8, or one), of which kFilled are there, one row after the other,
  // and the others become 0.
  template <std::size_t kFilled, std::size_t kWords>
  SATCHEL_INLINE Int load_filled(const std::byte* at, std::size_t) {
    static_assert(kWords == 8 || kWords == 16);
    constexpr auto kRow = static_cast<__mmask16>((1u << kFilled) - 1);
    if constexpr (kWords == 16) {
      return _mm512_maskz_loadu_epi32(kRow, at);
    } else {
      constexpr auto kBoth = static_cast<__mmask16>((1u << 2 * kFilled) - 1);
      return _mm512_maskz_expand_epi32(static_cast<__mmask16>(kRow << 8 | kRow),
                                       _mm512_maskz_loadu_epi32(kBoth, at));
    }
  }
  // Words of single bits, kFilled / 2 of each kWords / 2, each spread over two: the pairs of bits
  // 0 to 7 lie in the lower bytes of the first one's halves, those of bits 8 to 15 in the second's.
  template <std::size_t kFilled, std::size_t kWords>
  SATCHEL_INLINE Int spread_bits(const std::byte* at) {
    static_assert(kFilled == kWords || (kFilled == 6 && kWords == 8));
    __m256i words;
    if constexpr (kFilled == kWords)
      words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
    else
      words = _mm256_maskz_expand_epi32(0x77, _mm256_maskz_loadu_epi32(0x3f, at));
    const Int first = _mm512_cvtepu32_epi64(words);
    return _mm512_or_si512(first, _mm512_slli_epi64(first, 24));
  }
  // Words from kFirst on, and from the first one on again after kWords of them; both are multiples
  // of four.
  template <std::size_t kWords, std::size_t kFirst>
  SATCHEL_INLINE Int load_around(const std::byte* at) {
    if constexpr (kWords == 4) {
      return repeat(at);
    } else if constexpr (kWords % 8 == 0) {
      const auto* const eights = reinterpret_cast<const __m256i*>(at);
      return _mm512_inserti64x4(_mm512_castsi256_si512(_mm256_loadu_si256(eights + kFirst / 8)),
                                _mm256_loadu_si256(eights + (kFirst + 8) % kWords / 8), 1);
    } else {
      static_assert(kWords == 12);
      constexpr int kFour = kFirst / 4,
                    kOrder = kFour | (kFour + 1) % 3 << 2 | (kFour + 2) % 3 << 4 | kFour << 6;
      const Int words = _mm512_maskz_loadu_epi32(0xfff, at);
      return _mm512_shuffle_i32x4(words, words, kOrder);
    }
  }
  SATCHEL_INLINE Int shift_right_each(Int words, Int bits) {
    return _mm512_srlv_epi32(words, bits);
  }
  // Two 16-bit words, repeated to fill the register.
  SATCHEL_INLINE Int broadcast_pair(const std::int16_t* at) {
    std::int32_t both;
    __builtin_memcpy(&both, at, sizeof both);
    return _mm512_set1_epi32(both);
  }
  // Bytes to 16-bit words.
  SATCHEL_INLINE Int widen_bytes(const std::byte* at) {
    return _mm512_cvtepu8_epi16(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)));
  }

  // Per 128 bits: sums of the four words of a, b, c and d.
  SATCHEL_INLINE Int add_words(Int a, Int b, Int c, Int d) {
    const Int ab = _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
    const Int cd = _mm512_add_epi32(_mm512_unpacklo_epi32(c, d), _mm512_unpackhi_epi32(c, d));
    return _mm512_add_epi32(_mm512_unpacklo_epi64(ab, cd), _mm512_unpackhi_epi64(ab, cd));
  }
  SATCHEL_INLINE Float add_words(Float a, Float b, Float c, Float d) {
    const Float ab = _mm512_add_ps(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
    const Float cd = _mm512_add_ps(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
    return _mm512_add_ps(
        _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd))),
        _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd))));
  }
  // Elements 0 + 1 and 2 + 3 of a, then of b.
  SATCHEL_INLINE Int add_lanes(Int a, Int b) {
    return _mm512_add_epi32(_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xdd));
  }
  SATCHEL_INLINE Float add_lanes(Float a, Float b) {
    return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
  }

  // Sums of the words of 16 rows of kWords words each, which lie one after another in `partial`.
  template <std::size_t kWords>
  SATCHEL_INLINE void sum_rows(const Int* partial, float* sums) {
    Int out;
    if constexpr (kWords == 2) {
      const Int even = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
      const Int odd = _mm512_add_epi32(even, _mm512_set1_epi32(1));
      out = _mm512_add_epi32(_mm512_permutex2var_epi32(partial[0], even, partial[1]),
                             _mm512_permutex2var_epi32(partial[0], odd, partial[1]));
    } else if constexpr (kWords == 4) {
      out = add_words(partial[0], partial[1], partial[2], partial[3]);
      const Int order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
      out = _mm512_permutexvar_epi32(order, out);
    } else if constexpr (kWords == 8) {
      const Int a = add_words(partial[0], partial[1], partial[2], partial[3]);
      const Int b = add_words(partial[4], partial[5], partial[6], partial[7]);
      const Int order = _mm512_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15);
      out = _mm512_permutexvar_epi32(order, add_lanes(a, b));
    } else {
      Int four[4];
      unroll<0, 4>([&](auto i) __attribute__((always_inline)) {
        const auto* p = partial + 4 * i.value;
        four[i.value] = add_words(p[0], p[1], p[2], p[3]);
      });
      out = add_lanes(add_lanes(four[0], four[1]), add_lanes(four[2], four[3]));
    }
    _mm512_storeu_ps(sums, _mm512_cvtepi32_ps(out));
  }
  // The sum of each of 16 registers, or of 4.
  template <std::size_t kCount = 16>
  SATCHEL_INLINE void sum_registers(const Float* partial, float* sums) {
    if constexpr (kCount == 4) {
      const Float four = add_words(partial[0], partial[1], partial[2], partial[3]);
      const Float two = add_lanes(four, four);
      _mm_storeu_ps(sums, _mm512_castps512_ps128(add_lanes(two, two)));
      return;
    }
    Float four[4];
    unroll<0, 4>([&](auto i) __attribute__((always_inline)) {
      const auto* p = partial + 4 * i.value;
      four[i.value] = add_words(p[0], p[1], p[2], p[3]);
    });
    _mm512_storeu_ps(sums, add_lanes(add_lanes(four[0], four[1]), add_lanes(four[2], four[3])));
  }

  SATCHEL_INLINE Float max_words(Float a, Float b, Float c, Float d) {
    const Float ab = max(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
    const Float cd = max(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
    return max(_mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd))),
               _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd))));
  }
  SATCHEL_INLINE Float max_lanes(Float a, Float b) {
    return max(_mm512_shuffle_f32x4(a, b, 0x88), _mm512_shuffle_f32x4(a, b, 0xdd));
  }
  template <std::size_t kCount = 16>
  SATCHEL_INLINE void max_registers(const Float* partial, float* most) {
    if constexpr (kCount == 4) {
      const Float four = max_words(partial[0], partial[1], partial[2], partial[3]);
      const Float two = max_lanes(four, four);
      _mm512_storeu_ps(most, max_lanes(two, two));
      return;
    }
    Float four[4];
    unroll<0, 4>([&](auto i) __attribute__((always_inline)) {
      const Float* p = partial + 4 * i.value;
      four[i.value] = max_words(p[0], p[1], p[2], p[3]);
    });
    _mm512_storeu_ps(most, max_lanes(max_lanes(four[0], four[1]), max_lanes(four[2], four[3])));
  }
  // Of each of 16 registers (of the first 4): by how much to multiply so that its largest value,
  // which is not negative, becomes 32767, and the inverse; 0 and 0 where it is too small for that.
  template <std::size_t kCount = 16>
  SATCHEL_INLINE void units_of_registers(const Float* partial, float* units, float* factors) {
    alignas(64) float largest[16];
    max_registers<kCount>(partial, largest);
    unroll<0, 16 / kFloats>([&](auto k) __attribute__((always_inline)) {
      const Float most = load_float(largest + k.value * kFloats);
      const Float range = broadcast_float(32767.0f);
      store(units + k.value * kFloats,
            _mm512_maskz_div_ps(_mm512_cmp_ps_mask(most, broadcast_float(1e-30f), _CMP_GT_OQ),
                                range, most));
      store(factors + k.value * kFloats,
            _mm512_maskz_div_ps(_mm512_cmp_ps_mask(most, broadcast_float(1e-30f), _CMP_GT_OQ), most,
                                range));
    });
  }
  // Register i of what lies in registers of eight.
  SATCHEL_INLINE Float joined(const __m256* eights, std::size_t i) {
    return _mm512_insertf32x8(_mm512_castps256_ps512(eights[2 * i]), eights[2 * i + 1], 1);
  }
  // Element i becomes element i xor kDistance.
  template <std::size_t kDistance>
  SATCHEL_INLINE Float swapped(Float a) {
    if constexpr (kDistance == 8)
      return _mm512_shuffle_f32x4(a, a, 0x4e);
    else if constexpr (kDistance == 4)
      return _mm512_shuffle_f32x4(a, a, 0xb1);
    else
      return _mm512_permute_ps(a, kDistance == 2 ? 0x4e : 0xb1);
  }
  // a · 2^n for n in the lowest bits of `whole`, within what an fp32 can be.
  SATCHEL_INLINE Float add_to_exponent(Float a, Float whole) {
    return _mm512_castsi512_ps(
        add(_mm512_castps_si512(a), _mm512_slli_epi32(_mm512_castps_si512(whole), 23)));
  }
  SATCHEL_INLINE Float magnitude(Float a) { return _mm512_abs_ps(a); }
  SATCHEL_INLINE float largest(Float a) { return _mm512_reduce_max_ps(a); }
  // To 16 bits, for store_pairs(): in this order only there.
  SATCHEL_INLINE Int packed(Int a, Int b) { return _mm512_packs_epi32(a, b); }
  // Pairs [kWords, kPairs] of 16-bit values, as packed() leaves them, to [kPairs, kWords]: each
  // register of these is picked out of two of those at a time.
  template <std::size_t kWords, std::size_t kPairs>
  SATCHEL_INLINE void store_pairs(const Int* packed, std::uint32_t* to) {
    constexpr std::size_t kRegisters = kWords * kPairs / kFloats;
    static constexpr PairOrder<kWords, kPairs> kOrder;
    unroll<0, kRegisters>([&](auto i) __attribute__((always_inline)) {
      const Int places = load(kOrder.places[i.value]);
      Int out = _mm512_permutex2var_epi32(packed[0], places, packed[kRegisters > 1 ? 1 : 0]);
      unroll<1, (kRegisters + 1) / 2>([&](auto k) __attribute__((always_inline)) {
        constexpr std::size_t first = 2 * k.value, last = kRegisters - 1;
        constexpr std::uint16_t here = kOrder.from[i.value][k.value];
        if constexpr (here != 0)
          out = _mm512_mask_blend_epi32(
              here, out,
              _mm512_permutex2var_epi32(packed[first], places,
                                        packed[first < last ? first + 1 : last]));
      });
      store_int(to + i.value * kFloats, out);
    });
  }
  SATCHEL_INLINE void store_int(void* at, Int a) { _mm512_storeu_si512(at, a); }
  // One word of each of kFloats rows that lie `stride` bytes apart.
  SATCHEL_INLINE Int gather_words(const std::byte* at, std::size_t stride) {
    const Int rows = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    return _mm512_i32gather_epi32(
        _mm512_mullo_epi32(rows, _mm512_set1_epi32(static_cast<int>(stride))),
        reinterpret_cast<const int*>(at), 1);
  }
  SATCHEL_INLINE Int field(Int words, unsigned shift, unsigned mask) {
    return _mm512_and_si512(_mm512_srl_epi32(words, _mm_cvtsi32_si128(static_cast<int>(shift))),
                            _mm512_set1_epi32(static_cast<int>(mask)));
  }
  // a for the first n elements, else b
  SATCHEL_INLINE Float first_floats(std::size_t n, Float a, Float b) {
    const __mmask16 keep = static_cast<__mmask16>(n >= 16 ? 0xffffu : (1u << n) - 1);
    return _mm512_mask_blend_ps(keep, b, a);
  }
  // a for elements whose bit is set, else b
  SATCHEL_INLINE Float pick_floats(std::uint32_t bits, Float a, Float b) {
    return _mm512_mask_blend_ps(static_cast<__mmask16>(bits), b, a);
  }
  // a, 0 where it is NaN
  SATCHEL_INLINE Float without_nan(Float a) {
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a, a, _CMP_ORD_Q), a);
  }
  // fp16, rounded as kMode says (_MM_FROUND_…)
  template <int kMode>
  SATCHEL_INLINE void store_half(Half* to, Float a) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                        _mm512_cvtps_ph(a, kMode | _MM_FROUND_NO_EXC));
  }
  // Rounded to the nearest, ties to even; 0 <= a <= 255.
  SATCHEL_INLINE void store_bytes(std::uint8_t* to, Float a) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(a)));
  }
  // to[i] += a[i] in double
  SATCHEL_INLINE void add_to_doubles(double* to, Float a) {
    const __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(a));
    const __m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(a, 1));
    _mm512_storeu_pd(to, _mm512_add_pd(_mm512_loadu_pd(to), low));
    _mm512_storeu_pd(to + 8, _mm512_add_pd(_mm512_loadu_pd(to + 8), high));
  }
};

}  // namespace
}  // namespace satchel::kernels::cpu
