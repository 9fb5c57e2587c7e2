// Registers of 8 rows, for the kernels of matmul_repacked_kernel.h: AVX2, FMA, F16C. Read only by
// units compiled for that level; everything has internal linkage.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/levels/simd_inline.h"

namespace satchel::kernels::cpu {
namespace {

struct SimdAvx2 {
  using Int = __m256i;
  using Float = __m256;
  static constexpr std::size_t kFloats = 8;
  static constexpr std::size_t kTile = 8;  // tokens that meet one register of repacked weights
  static constexpr std::size_t kFloatTile =
      3;                          // tokens times 4 rows of fp32 sums: 12 of 16 registers
  template <std::size_t kTokens>  // registers of rows at a time: a lone token takes both halves of
                                  // a group
  static consteval std::size_t vectors() {
    return kTokens <= 2 ? 2 : 1;
  }

  SATCHEL_INLINE Int load(const void* at) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(at));
  }
  // kFloats pairs of signed bytes to pairs of 16-bit words
  SATCHEL_INLINE Int load_bytes(const void* at) {
    return _mm256_cvtepi8_epi16(_mm_loadu_si128(static_cast<const __m128i*>(at)));
  }
  // kFloats unsigned bytes, one for each 32-bit element
  SATCHEL_INLINE Int load_rows(const void* at) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(static_cast<const __m128i*>(at)));
  }
  // 16 bytes, for look_up
  SATCHEL_INLINE Int repeat(const void* at) {
    return _mm256_broadcastsi128_si256(_mm_loadu_si128(static_cast<const __m128i*>(at)));
  }
  // table[byte] of every byte below 16
  SATCHEL_INLINE Int look_up(Int table, Int bytes) { return _mm256_shuffle_epi8(table, bytes); }
  SATCHEL_INLINE Int broadcast(const std::int32_t* at) { return _mm256_set1_epi32(*at); }
  SATCHEL_INLINE Int words(int bits) { return _mm256_set1_epi16(static_cast<short>(bits)); }
  SATCHEL_INLINE Int zero() { return _mm256_setzero_si256(); }
  SATCHEL_INLINE Int and_(Int a, Int b) { return _mm256_and_si256(a, b); }
  SATCHEL_INLINE Int or_(Int a, Int b) { return _mm256_or_si256(a, b); }
  template <int kBits>
  SATCHEL_INLINE Int shift_right(Int a) {
    if constexpr (kBits > 0)
      return _mm256_srli_epi16(a, kBits);
    else if constexpr (kBits < 0)
      return _mm256_slli_epi16(a, -kBits);
    else
      return a;
  }
  SATCHEL_INLINE Int shift_right_by(Int a, int bits) {
    return _mm256_srl_epi16(a, _mm_cvtsi32_si128(bits));
  }
  // sum + a[2i]·b[2i] + a[2i + 1]·b[2i + 1]
  SATCHEL_INLINE Int dot(Int sum, Int a, Int b) {
    sum = _mm256_add_epi32(sum, _mm256_madd_epi16(a, b));
    __asm__("" : "+x"(sum));  // else g++ adds products as a tree, and runs out of registers
    return sum;
  }

  // Has no instruction that adds four products of bytes.
  static constexpr bool kDotsBytes = false;
  // In each 16-bit word a[2i]·b[2i] + a[2i + 1]·b[2i + 1] of unsigned bytes a and signed ones b.
  SATCHEL_INLINE Int pairs_of_bytes(Int a, Int b) { return _mm256_maddubs_epi16(a, b); }
  SATCHEL_INLINE Int add_words(Int a, Int b) { return _mm256_add_epi16(a, b); }

  SATCHEL_INLINE Int add(Int a, Int b) { return _mm256_add_epi32(a, b); }

  SATCHEL_INLINE Float to_float(Int a) { return _mm256_cvtepi32_ps(a); }
  SATCHEL_INLINE Float zero_float() { return _mm256_setzero_ps(); }
  SATCHEL_INLINE Float broadcast_float(const std::int32_t* bits) {
    return _mm256_castsi256_ps(_mm256_set1_epi32(*bits));
  }
  SATCHEL_INLINE Float load_float(const void* at) {
    return _mm256_loadu_ps(static_cast<const float*>(at));
  }
  SATCHEL_INLINE Float load_half(const void* at) {
    return _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(at)));
  }
  SATCHEL_INLINE Float load_bfloat(const void* at) {
    const __m128i words = _mm_loadu_si128(static_cast<const __m128i*>(at));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(words), 16));
  }
  // Upper half added to lower, down to four.
  SATCHEL_INLINE __m128 fold(Float a) {
    return _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  }
  SATCHEL_INLINE float sum(Float a) {
    __m128 s = fold(a);
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
  }
  SATCHEL_INLINE Float mul(Float a, Float b) { return _mm256_mul_ps(a, b); }
  SATCHEL_INLINE Float fma(Float a, Float b, Float c) { return _mm256_fmadd_ps(a, b, c); }
  // The bits of the largest magnitude among 32 values; a NaN is larger than infinity.
  SATCHEL_INLINE std::uint32_t largest_bits(const float* x) {
    const Int magnitude = _mm256_set1_epi32(0x7fffffff);
    Int most = _mm256_and_si256(load(x), magnitude);
    for (int i = 1; i < 4; ++i)
      most = _mm256_max_epi32(most, _mm256_and_si256(load(x + 8 * i), magnitude));
    __m128i m = _mm_max_epi32(_mm256_castsi256_si128(most), _mm256_extracti128_si256(most, 1));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0x4e));
    m = _mm_max_epi32(m, _mm_shuffle_epi32(m, 0xb1));
    return static_cast<std::uint32_t>(_mm_cvtsi128_si32(m));
  }
  // 32 values times `factor`, rounded to the nearest: |code| <= 32767. Sums of each half of them.
  SATCHEL_INLINE void round_block(const float* x, float factor, std::int16_t* codes,
                                  std::int32_t* sums) {
    const Float f = _mm256_set1_ps(factor);
    for (int half = 0; half < 2; ++half, x += 16, codes += 16) {
      const Int a = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x), f));
      const Int b = _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_loadu_ps(x + 8), f));
      const Int packed = _mm256_permute4x64_epi64(_mm256_packs_epi32(a, b), 0xd8);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(codes), packed);
      const Int ab = _mm256_add_epi32(a, b);
      __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(ab), _mm256_extracti128_si256(ab, 1));
      sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
      sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1));
      sums[half] = _mm_cvtsi128_si32(sum);
    }
  }
  SATCHEL_INLINE Float broadcast_float(float a) { return _mm256_set1_ps(a); }
  SATCHEL_INLINE Float add(Float a, Float b) { return _mm256_add_ps(a, b); }
  SATCHEL_INLINE Float sub(Float a, Float b) { return _mm256_sub_ps(a, b); }
  SATCHEL_INLINE Float div(Float a, Float b) { return _mm256_div_ps(a, b); }
  // the smaller, the larger; b where one is NaN
  SATCHEL_INLINE Float min(Float a, Float b) { return _mm256_min_ps(a, b); }
  SATCHEL_INLINE Float max(Float a, Float b) { return _mm256_max_ps(a, b); }
  SATCHEL_INLINE Int round_to_int(Float a) { return _mm256_cvtps_epi32(a); }
  // 2^n for -127 < n < 128
  SATCHEL_INLINE Float power_of_two(Int n) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(n, _mm256_set1_epi32(127)), 23));
  }
  // 2^(e - 128) for 0 <= e < 256, of which the first two are subnormal
  SATCHEL_INLINE Float half_of_e8m0(Int e) {
    const Int one = _mm256_set1_epi32(1);
    return _mm256_castsi256_ps(_mm256_max_epi32(_mm256_slli_epi32(_mm256_sub_epi32(e, one), 23),
                                                _mm256_slli_epi32(_mm256_add_epi32(e, one), 21)));
  }
  SATCHEL_INLINE Float swap_neighbours(Float a) { return _mm256_permute_ps(a, 0xb1); }
  // Which elements are not <= limit (a NaN is not), as bits.
  SATCHEL_INLINE unsigned above(Float a, Float limit) {
    return static_cast<unsigned>(_mm256_movemask_ps(_mm256_cmp_ps(a, limit, _CMP_NLE_UQ)));
  }

  using Double = __m256d;
  using Long = __m256i;
  static constexpr std::size_t kDoubles = 4;
  SATCHEL_INLINE Double load_double(const double* at) { return _mm256_loadu_pd(at); }
  SATCHEL_INLINE Double broadcast_double(double a) { return _mm256_set1_pd(a); }
  SATCHEL_INLINE Double sub_double(Double a, Double b) { return _mm256_sub_pd(a, b); }
  SATCHEL_INLINE Double mul_double(Double a, Double b) { return _mm256_mul_pd(a, b); }
  SATCHEL_INLINE Double fma_double(Double a, Double b, Double c) {
    return _mm256_fmadd_pd(a, b, c);
  }
  SATCHEL_INLINE Long bits_of(Double a) { return _mm256_castpd_si256(a); }
  SATCHEL_INLINE Long add_long(Long a, long long b) {
    return _mm256_add_epi64(a, _mm256_set1_epi64x(b));
  }
  // b where the lowest bit of `which` is set, else a
  SATCHEL_INLINE Double pick(Long which, Double a, Double b) {
    return _mm256_blendv_pd(a, b, _mm256_castsi256_pd(_mm256_slli_epi64(which, 63)));
  }
  // a, negated where the second lowest bit of `which` is set
  SATCHEL_INLINE Double negate_by_bit_1(Long which, Double a) {
    const Long sign = _mm256_slli_epi64(_mm256_srli_epi64(which, 1), 63);
    return _mm256_xor_pd(a, _mm256_castsi256_pd(sign));
  }
  SATCHEL_INLINE void store_as_float(float* to, Double a) { _mm_storeu_ps(to, _mm256_cvtpd_ps(a)); }

  SATCHEL_INLINE void store(float* to, Float a) { _mm256_storeu_ps(to, a); }
  // 16 values as 16-bit words, in order; beyond their range the nearest.
  SATCHEL_INLINE void store_words(std::int16_t* to, const Int (&a)[2]) {
    const Int packed = _mm256_permute4x64_epi64(_mm256_packs_epi32(a[0], a[1]), 0xd8);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), packed);
  }
};

}  // namespace
}  // namespace satchel::kernels::cpu
