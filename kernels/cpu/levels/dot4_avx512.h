// Codes of at most 4 bits, four in the bytes of a word, times four 16-bit values, with AVX-512. The
// values are two words:
//   with VNNI     of their lower bytes, taken as unsigned, and of their upper bytes, in the order
//                 of the codes: these are unpacked to bytes only, and the sum is the same whole
//                 number
//   without       as dot4_from_dot2.h has them
// Everything has internal linkage.
#pragma once

#include "kernels/cpu/levels/dot4_from_dot2.h"
#include "kernels/cpu/levels/simd_avx512.h"

namespace satchel::kernels::cpu {
namespace {

#ifdef __AVX512VNNI__
struct FoursOfLevel : SimdAvx512 {
  using Four = Int;
  struct FourSums {
    Int low, high;
    SATCHEL_INLINE FourSums none() { return {zero(), zero()}; }
  };
  template <std::size_t kBits, std::size_t kShift>
  SATCHEL_INLINE Four four(Int words) {
    const Int mask = _mm512_set1_epi8((1 << kBits) - 1);
    return and_(shift_right<static_cast<int>(kShift)>(words), mask);
  }
  SATCHEL_INLINE void add_four(FourSums& sums, Four codes, Int first, Int second) {
    add_bytes(sums.low, first, codes);
    add_bytes(sums.high, codes, second);
  }
  // sum += the products of unsigned and signed bytes, four to a word. Written out, since g++ 12
  // copies every sum of a loop twice with the intrinsic.
  SATCHEL_INLINE void add_bytes(Int& sum, Int with_unsigned, Int with_signed) {
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(with_unsigned), "v"(with_signed));
  }
  SATCHEL_INLINE Int total(const FourSums& sums) {
    return add(sums.low, _mm512_slli_epi32(sums.high, 8));
  }
  // From pairs of 16-bit values 0 and 2, and 1 and 3.
  SATCHEL_INLINE void pairs_to_fours(Int& first, Int& second) {
    constexpr __mmask64 kUpper = 0xaaaaaaaaaaaaaaaa;
    const Int low = _mm512_mask_blend_epi8(kUpper, first, _mm512_slli_epi16(second, 8));
    second = _mm512_mask_blend_epi8(kUpper, _mm512_srli_epi16(first, 8), second);
    first = low;
  }
};
#else
using FoursOfLevel = FoursOfPairs<SimdAvx512>;
#endif

struct FoursAvx512 : FoursOfLevel {
  static constexpr std::size_t kFourSums = 16 / (sizeof(FourSums) / sizeof(Int));  // that fit

  // Registers of four words of each of four rows that lie kPieces · 16 bytes apart.
  template <std::size_t kPieces>
  struct Pieces {
    Int words[kPieces];
    [[gnu::always_inline]] inline explicit Pieces(const std::byte* at) {
      static_assert(kPieces % 2 == 0);
      if constexpr (kPieces == 2) {
        const Int a = load(at), b = load(at + sizeof(Int));
        words[0] = _mm512_shuffle_i32x4(a, b, 0x88);
        words[1] = _mm512_shuffle_i32x4(a, b, 0xdd);
      } else {
        unroll<0, kPieces / 4>([&](auto i) __attribute__((always_inline)) {
          constexpr std::size_t row = kPieces * 16;
          const std::byte* const from = at + i.value * sizeof(Int);
          const Int a = load(from), b = load(from + row), c = load(from + 2 * row),
                    d = load(from + 3 * row);
          const Int ab = _mm512_shuffle_i32x4(a, b, 0x44), ab2 = _mm512_shuffle_i32x4(a, b, 0xee);
          const Int cd = _mm512_shuffle_i32x4(c, d, 0x44), cd2 = _mm512_shuffle_i32x4(c, d, 0xee);
          Int* const to = words + 4 * i.value;
          to[0] = _mm512_shuffle_i32x4(ab, cd, 0x88);
          to[1] = _mm512_shuffle_i32x4(ab, cd, 0xdd);
          to[2] = _mm512_shuffle_i32x4(ab2, cd2, 0x88);
          to[3] = _mm512_shuffle_i32x4(ab2, cd2, 0xdd);
        });
      }
    }
    template <std::size_t kPiece>
    [[gnu::always_inline]] inline Int get() const {
      return words[kPiece];
    }
  };

  // 16 values as 16-bit words, four and four as add_four() wants those of codes in channel order 0,
  // 2, 1, 3.
  SATCHEL_INLINE void store_fours(std::int16_t* to, const Int (&a)[1]) {
    __m256i values = _mm512_cvtsepi32_epi16(a[0]);
#ifdef __AVX512VNNI__
    const __m128i order = _mm_setr_epi8(0, 4, 2, 6, 1, 5, 3, 7, 8, 12, 10, 14, 9, 13, 11, 15);
    values = _mm256_shuffle_epi8(values, _mm256_broadcastsi128_si256(order));
#endif
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), values);
  }
};

}  // namespace
}  // namespace satchel::kernels::cpu
