// Codes of at most 4 bits, four in the bytes of a word, times four 16-bit values, with AVX2. The values
// are two words: of values 0 and 2, and of 1 and 3. Everything has internal linkage.
#pragma once

#include "kernels/cpu/simd_avx2.h"

namespace satchel::kernels::cpu {
namespace {

struct FoursAvx2 : SimdAvx2 {
  struct Four {
    Int even, odd;
  };
  struct FourSums {
    Int sum;
    SATCHEL_INLINE FourSums none() { return {zero()}; }
  };
  static constexpr std::size_t kFourSums = 8;  // that fit
  template <std::size_t kBits, std::size_t kShift>
  SATCHEL_INLINE Four four(Int codes) {
    const Int mask = words((1 << kBits) - 1),
              odd = shift_right<static_cast<int>(kShift + 8)>(codes);
    return {and_(shift_right<static_cast<int>(kShift)>(codes), mask),
            kShift + kBits == 8 ? odd : and_(odd, mask)};
  }
  SATCHEL_INLINE void add_four(FourSums& sums, const Four& codes, Int first, Int second) {
    sums.sum = dot(dot(sums.sum, codes.even, first), codes.odd, second);
  }
  SATCHEL_INLINE Int total(const FourSums& sums) { return sums.sum; }
  SATCHEL_INLINE void pairs_to_fours(Int&, Int&) {}

  // Registers of four words of each of two rows that lie kPieces · 16 bytes apart; loaded when they
  // are wanted, as there are few registers.
  template <std::size_t kPieces>
  struct Pieces {
    const std::byte* at;
    [[gnu::always_inline]] inline explicit Pieces(const std::byte* from) : at(from) {}
    template <std::size_t kPiece>
    [[gnu::always_inline]] inline Int get() const {
      const auto* const row = reinterpret_cast<const __m128i*>(at) + kPiece;
      return _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(row)),
                                     _mm_loadu_si128(row + kPieces), 1);
    }
  };

  // 16 values as 16-bit words, four and four as add_four() wants those of codes in channel order 0, 2,
  // 1, 3.
  SATCHEL_INLINE void store_fours(std::int16_t* to, const Int (&a)[2]) { store_words(to, a); }
};

}  // namespace
}  // namespace satchel::kernels::cpu
