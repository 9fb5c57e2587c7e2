// Registers of 16 rows, for the kernels of matmul_repacked_kernel.h: AVX-512 F, BW, VL, DQ, and
// VNNI where the unit is compiled for it. Everything has internal linkage.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/levels/simd_inline.h"

namespace satchel::kernels::cpu {
namespace {

struct SimdAvx512 {
  using Int = __m512i;
  using Float = __m512;
  static constexpr std::size_t kFloats = 16;
  static constexpr std::size_t kTile = 8;  // tokens that meet one register of repacked weights
  static constexpr std::size_t kFloatTile =
      6;                          // tokens times 4 rows of fp32 sums: 24 of 32 registers
  template <std::size_t kTokens>  // registers of rows at a time
  static consteval std::size_t vectors() {
    return 1;
  }

  SATCHEL_INLINE Int load(const void* at) { return _mm512_loadu_si512(at); }
  // kFloats pairs of signed bytes to pairs of 16-bit words
  SATCHEL_INLINE Int load_bytes(const void* at) {
    return _mm512_cvtepi8_epi16(_mm256_loadu_si256(static_cast<const __m256i*>(at)));
  }
  // kFloats unsigned bytes, one for each 32-bit element
  SATCHEL_INLINE Int load_rows(const void* at) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(static_cast<const __m128i*>(at)));
  }
  // 16 bytes, for look_up
  SATCHEL_INLINE Int repeat(const void* at) {
    return _mm512_broadcast_i32x4(_mm_loadu_si128(static_cast<const __m128i*>(at)));
  }
  // table[byte] of every byte below 16
  SATCHEL_INLINE Int look_up(Int table, Int bytes) { return _mm512_shuffle_epi8(table, bytes); }
  SATCHEL_INLINE Int broadcast(const std::int32_t* at) { return _mm512_set1_epi32(*at); }
  SATCHEL_INLINE Int words(int bits) { return _mm512_set1_epi16(static_cast<short>(bits)); }
  SATCHEL_INLINE Int zero() { return _mm512_setzero_si512(); }
  SATCHEL_INLINE Int and_(Int a, Int b) { return _mm512_and_si512(a, b); }
  SATCHEL_INLINE Int or_(Int a, Int b) { return _mm512_or_si512(a, b); }
  template <int kBits>
  SATCHEL_INLINE Int shift_right(Int a) {
    if constexpr (kBits > 0)
      return _mm512_srli_epi16(a, kBits);
    else if constexpr (kBits < 0)
      return _mm512_slli_epi16(a, -kBits);
    else
      return a;
  }
  SATCHEL_INLINE Int shift_right_by(Int a, int bits) {
    return _mm512_srl_epi16(a, _mm_cvtsi32_si128(bits));
  }
  // sum + a[2i]·b[2i] + a[2i + 1]·b[2i + 1]
  SATCHEL_INLINE Int dot(Int sum, Int a, Int b) {
#ifdef __AVX512VNNI__
    return _mm512_dpwssd_epi32(sum, a, b);
#else
    sum = _mm512_add_epi32(sum, _mm512_madd_epi16(a, b));
    __asm__("" : "+v"(sum));  // else g++ adds products as a tree, and runs out of registers
    return sum;
#endif
  }

#ifdef __AVX512VNNI__
  static constexpr bool kDotsBytes = true;
  // sum + the four products of each element's unsigned bytes a and signed ones b
  SATCHEL_INLINE Int dot_bytes(Int sum, Int a, Int b) {
    return _mm512_dpbusd_epi32(sum, a, b);
  }
#else
  static constexpr bool kDotsBytes = false;
#endif
  // In each 16-bit word a[2i]·b[2i] + a[2i + 1]·b[2i + 1] of unsigned bytes a and signed ones b.
  SATCHEL_INLINE Int pairs_of_bytes(Int a, Int b) {
    return _mm512_maddubs_epi16(a, b);
  }
  SATCHEL_INLINE Int add_words(Int a, Int b) {
    return _mm512_add_epi16(a, b);
  }
  SATCHEL_INLINE Int xor_(Int a, Int b) {
    return _mm512_xor_si512(a, b);
  }
  // Of the 32 bytes at `at` and the 32 behind them one of each in turn.
  SATCHEL_INLINE Int zip_bytes(const void* at) {
    const Int places = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
    const Int in_turn =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15));
    return _mm512_shuffle_epi8(_mm512_permutexvar_epi64(places, load(at)), in_turn);
  }

  SATCHEL_INLINE Int add(Int a, Int b) {
    return _mm512_add_epi32(a, b);
  }

  SATCHEL_INLINE Float to_float(Int a) {
    return _mm512_cvtepi32_ps(a);
  }
  SATCHEL_INLINE Float zero_float() {
    return _mm512_setzero_ps();
  }
  SATCHEL_INLINE Float broadcast_float(const std::int32_t* bits) {
    return _mm512_castsi512_ps(_mm512_set1_epi32(*bits));
  }
  SATCHEL_INLINE Float load_float(const void* at) {
    return _mm512_loadu_ps(at);
  }
  SATCHEL_INLINE Float load_half(const void* at) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(at)));
  }
  SATCHEL_INLINE Float load_bfloat(const void* at) {
    const __m256i words = _mm256_loadu_si256(static_cast<const __m256i*>(at));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(words), 16));
  }
  // Upper half added to lower, down to four.
  SATCHEL_INLINE __m128 fold(Float a) {
    const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));
    return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  }
  SATCHEL_INLINE float sum(Float a) {
    __m128 s = fold(a);
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
  }
  SATCHEL_INLINE Float mul(Float a, Float b) {
    return _mm512_mul_ps(a, b);
  }
  SATCHEL_INLINE Float fma(Float a, Float b, Float c) {
    return _mm512_fmadd_ps(a, b, c);
  }
  // The bits of the largest magnitude among 32 values; a NaN is larger than infinity.
  SATCHEL_INLINE std::uint32_t largest_bits(const float* x) {
    const Int magnitude = _mm512_set1_epi32(0x7fffffff);
    return static_cast<std::uint32_t>(_mm512_reduce_max_epi32(_mm512_max_epi32(
        _mm512_and_si512(load(x), magnitude), _mm512_and_si512(load(x + 16), magnitude))));
  }
  // 32 values times `factor`, rounded to the nearest: |code| <= 32767. Sums of each half of them.
  SATCHEL_INLINE void round_block(const float* x, float factor, std::int16_t* codes,
                                  std::int32_t* sums) {
    const Float f = _mm512_set1_ps(factor);
    for (int half = 0; half < 2; ++half, x += 16, codes += 16) {
      const Int a = _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_loadu_ps(x), f));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(codes), _mm512_cvtepi32_epi16(a));
      sums[half] = _mm512_reduce_add_epi32(a);
    }
  }
  SATCHEL_INLINE Float broadcast_float(float a) {
    return _mm512_set1_ps(a);
  }
  SATCHEL_INLINE Float add(Float a, Float b) {
    return _mm512_add_ps(a, b);
  }
  SATCHEL_INLINE Float sub(Float a, Float b) {
    return _mm512_sub_ps(a, b);
  }
  SATCHEL_INLINE Float div(Float a, Float b) {
    return _mm512_div_ps(a, b);
  }
  // the smaller, the larger; b where one is NaN
  SATCHEL_INLINE Float min(Float a, Float b) {
    return _mm512_min_ps(a, b);
  }
  SATCHEL_INLINE Float max(Float a, Float b) {
    return _mm512_max_ps(a, b);
  }
  SATCHEL_INLINE Int round_to_int(Float a) {
    return _mm512_cvtps_epi32(a);
  }
  // 2^n for -127 < n < 128
  SATCHEL_INLINE Float power_of_two(Int n) {
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_add_epi32(n, _mm512_set1_epi32(127)), 23));
  }
  // 2^(e - 128) for 0 <= e < 256, of which the first two are subnormal
  SATCHEL_INLINE Float half_of_e8m0(Int e) {
    const Int one = _mm512_set1_epi32(1);
    return _mm512_castsi512_ps(_mm512_max_epi32(_mm512_slli_epi32(_mm512_sub_epi32(e, one), 23),
                                                _mm512_slli_epi32(_mm512_add_epi32(e, one), 21)));
  }
  SATCHEL_INLINE Float swap_neighbours(Float a) {
    return _mm512_permute_ps(a, 0xb1);
  }
  // Which elements are not <= limit (a NaN is not), as bits.
  SATCHEL_INLINE unsigned above(Float a, Float limit) {
    return _mm512_cmp_ps_mask(a, limit, _CMP_NLE_UQ);
  }

  using Double = __m512d;
  using Long = __m512i;
  static constexpr std::size_t kDoubles = 8;
  SATCHEL_INLINE Double load_double(const double* at) {
    return _mm512_loadu_pd(at);
  }
  SATCHEL_INLINE Double broadcast_double(double a) {
    return _mm512_set1_pd(a);
  }
  SATCHEL_INLINE Double sub_double(Double a, Double b) {
    return _mm512_sub_pd(a, b);
  }
  SATCHEL_INLINE Double mul_double(Double a, Double b) {
    return _mm512_mul_pd(a, b);
  }
  SATCHEL_INLINE Double fma_double(Double a, Double b, Double c) {
    return _mm512_fmadd_pd(a, b, c);
  }
  SATCHEL_INLINE Long bits_of(Double a) {
    return _mm512_castpd_si512(a);
  }
  SATCHEL_INLINE Long add_long(Long a, long long b) {
    return _mm512_add_epi64(a, _mm512_set1_epi64(b));
  }
  // b where the lowest bit of `which` is set, else a
  SATCHEL_INLINE Double pick(Long which, Double a, Double b) {
    return _mm512_mask_blend_pd(_mm512_test_epi64_mask(which, _mm512_set1_epi64(1)), a, b);
  }
  // a, negated where the second lowest bit of `which` is set
  SATCHEL_INLINE Double negate_by_bit_1(Long which, Double a) {
    const Long sign = _mm512_slli_epi64(_mm512_srli_epi64(which, 1), 63);
    return _mm512_xor_pd(a, _mm512_castsi512_pd(sign));
  }
  SATCHEL_INLINE void store_as_float(float* to, Double a) {
    _mm256_storeu_ps(to, _mm512_cvtpd_ps(a));
  }

  SATCHEL_INLINE void store(float* to, Float a) {
    _mm512_storeu_ps(to, a);
  }
  // 16 values as 16-bit words, in order; beyond their range the nearest.
  SATCHEL_INLINE void store_words(std::int16_t* to, const Int (&a)[1]) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtsepi32_epi16(a[0]));
  }
};

}  // namespace
}  // namespace satchel::kernels::cpu
