// The operands of the kernel on quantised pages, and the order of the fp32 rows that it multiplies.
//   slots   fp32 rows are in the storage order of codes (row_order.h), for any number of bits
//   words   of a row of n codes. 2 and 4 bits: as stored, 16 / bits pairs per word, shifted out one
//           pair after the other. 8 bits: widened to 16 when read, one pair per word. 3 bits: the
//           words of the upper two bits, joined pair by pair with the lowest. Rows are padded with
//           zero words to fill registers.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>

#include "kernels/contract/page_layout.h"
#include "kernels/contract/row_order.h"

namespace satchel::kernels::cpu {

struct CodeWords {
  std::size_t pairs_of_word, words, padded;

  static consteval CodeWords of(std::size_t bits, std::size_t n) {
    const std::size_t pairs = bits == 8 ? 1 : bits == 3 ? 8 : 16 / bits, words = n / 2 / pairs;
    return {pairs, words, words < 16 ? std::bit_ceil(words) : (words + 15) / 16 * 16};
  }
};

// Whether pages with this layout have a decode kernel of their own.
inline bool has_code_kernel(const PageLayout& layout) {
  const std::size_t d = layout.head_dim;
  if (!layout.v.is_affine()) return false;
  if (layout.k.is_mixed_bit()) return true;
  return layout.k.is_affine() && (d == 64 || d == 128 || d == 256);
}

// Reorders a row of n entries to slots: entries 8·m + 2·t and the next of a block of n go to its
// slots 2 · (t · n / 8 + m) and the next.
inline void to_slots(const float* row, std::size_t n, float* slots) {
  for (std::size_t first = 0; first < n; first += kRowBlock) {
    const std::size_t block = std::min(n - first, kRowBlock);
    for (std::size_t t = 0; t < 4; ++t) {
      for (std::size_t m = 0; m < block / 8; ++m) {
        const float* const entry = row + first + 8 * m + 2 * t;
        *slots++ = entry[0];
        *slots++ = entry[1];
      }
    }
  }
}

}  // namespace satchel::kernels::cpu
