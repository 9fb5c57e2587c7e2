// Codes of at most 4 bits times four 16-bit values, with AVX2: words of two, as dot4_from_dot2.h
// has them. Everything has internal linkage.
#pragma once

#include "kernels/cpu/levels/dot4_from_dot2.h"
#include "kernels/cpu/levels/simd_avx2.h"

namespace satchel::kernels::cpu {
namespace {

struct FoursAvx2 : FoursOfPairs<SimdAvx2> {
  static constexpr std::size_t kFourSums = 8;  // that fit

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

  // 16 values as 16-bit words, four and four as add_four() wants those of codes in channel order 0,
  // 2, 1, 3.
  SATCHEL_INLINE void store_fours(std::int16_t* to, const Int (&a)[2]) { store_words(to, a); }
};

}  // namespace
}  // namespace satchel::kernels::cpu
