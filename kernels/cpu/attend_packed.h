// What the packed kernel multiplies, and in which order it wants the rows of fp32 that meet it.
//   slots   rows of fp32 lie in the storage order of codes (row_order.h), whatever the bits
//   words   of a row of n codes: 2 and 4 bits as they are stored, 16 / bits pairs to a word, shifted
//           out one pair after the other; 8 bits widened to 16 when they are read, a pair to a word;
//           3 bits as the words of the upper two, which the lowest joins pair by pair. Where a row
//           has to fill up registers, there are words more, of zeros
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>

#include "kernels/contract/page_layout.h"
#include "kernels/contract/row_order.h"

namespace satchel::kernels::cpu {

struct PackedWords {
  std::size_t pairs_of_word, words, padded;

  static consteval PackedWords of(std::size_t bits, std::size_t n) {
    const std::size_t pairs = bits == 8 ? 1 : bits == 3 ? 8 : 16 / bits, words = n / 2 / pairs;
    return {pairs, words, words < 16 ? std::bit_ceil(words) : (words + 15) / 16 * 16};
  }
};

// Which pages have a kernel of their own for few rows.
inline bool packed_fits(const PageLayout& layout) {
  const std::size_t d = layout.head_dim;
  if (!layout.v.is_affine()) return false;
  if (layout.k.is_graded()) return layout.capacity == kPageTokens;
  return layout.k.is_affine() && (d == 64 || d == 128 || d == 256);
}

// A row of n entries in the order of slots: entries 8·m + 2·t and the next one of a block of n lie in
// its slots 2 · (t · n / 8 + m) and the next one.
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
