// Dot products of four codes of at most 4 bits, in the bytes of a word, with four 16-bit values, on
// levels that multiply pairs. The values are two words: values 0 and 2, and values 1 and 3. For the
// registers `V` of a level. Everything has internal linkage.
#pragma once

#include "kernels/cpu/levels/simd_inline.h"

namespace satchel::kernels::cpu {
namespace {

template <class V>
struct FoursOfPairs : V {
  using Int = typename V::Int;

  struct Four {
    Int even, odd;
  };
  struct FourSums {
    Int sum;
    SATCHEL_INLINE FourSums none() { return {V::zero()}; }
  };
  template <std::size_t kBits, std::size_t kShift>
  SATCHEL_INLINE Four four(Int codes) {
    const Int mask = V::words((1 << kBits) - 1),
              odd = V::template shift_right<static_cast<int>(kShift + 8)>(codes);
    return {V::and_(V::template shift_right<static_cast<int>(kShift)>(codes), mask),
            kShift + kBits == 8 ? odd : V::and_(odd, mask)};
  }
  SATCHEL_INLINE void add_four(FourSums& sums, const Four& codes, Int first, Int second) {
    sums.sum = V::dot(V::dot(sums.sum, codes.even, first), codes.odd, second);
  }
  SATCHEL_INLINE Int total(const FourSums& sums) { return sums.sum; }
  SATCHEL_INLINE void pairs_to_fours(Int&, Int&) {}
};

}  // namespace
}  // namespace satchel::kernels::cpu
