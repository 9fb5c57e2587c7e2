// What the packed kernel multiplies, and in which order it wants the rows of fp32 that meet it.
//   words   of a row of n codes: 2 and 4 bits as they are stored, 16 / bits pairs to a word, shifted
//           out one pair after the other; 8 bits widened to 16 when they are read, a pair to a word
//   planes  a row of fp32, pair by pair like the words: plane [i][w] holds the entry of the first
//           slot of pair i of word w; first all of these, then the entries of the second slots.
//           Where a row has to fill up registers, the planes have words more, of zeros
//   linkage always inlined, or in constants, where units for one level use it (row_order.h)
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>

#include "kernels/contract/page_layout.h"
#include "kernels/contract/row_order.h"

namespace satchel::kernels::cpu {

struct PackedWords {
  std::size_t pairs_of_word, words, padded;

  static constexpr PackedWords of(std::size_t bits, std::size_t n) {
    const std::size_t pairs = bits == 8 ? 1 : 16 / bits, words = n / 2 / pairs;
    return {pairs, words, words < 16 ? std::bit_ceil(words) : (words + 15) / 16 * 16};
  }
  constexpr std::size_t pairs() const { return pairs_of_word * padded; }
  constexpr std::size_t slot(std::size_t pair, std::size_t word) const {
    return 2 * (word * pairs_of_word + pair);
  }
};

inline bool packed_fits(std::size_t head_dim) {
  return head_dim == 64 || head_dim == 128 || head_dim == 256;
}
// Which pages have a kernel of their own for few rows.
inline bool packed_fits(const PageLayout& layout) {
  return layout.k.is_affine() && layout.v.is_affine() && packed_fits(layout.head_dim);
}

// A row of n entries, which fill whole words, to planes for codes of so many bits. Entries 8·m + 2·t
// and the next one of a block lie in slot pair t · n / 8 + m of it (row_order.h).
inline void to_planes(const float* row, std::size_t n, std::size_t bits, float* planes) {
  const PackedWords words = PackedWords::of(bits, n);
  const auto in_word = static_cast<unsigned>(std::countr_zero(words.pairs_of_word));
  std::size_t slot_pair = 0;
  for (std::size_t first = 0; first < n; first += kRowBlock) {
    const std::size_t block = std::min(n - first, kRowBlock);
    for (std::size_t t = 0; t < 4; ++t) {
      for (std::size_t m = 0; m < block / 8; ++m, ++slot_pair) {
        const std::size_t i = slot_pair & (words.pairs_of_word - 1), w = slot_pair >> in_word;
        const float* const entry = row + first + 8 * m + 2 * t;
        planes[i * words.padded + w] = entry[0];
        planes[words.pairs() + i * words.padded + w] = entry[1];
      }
    }
  }
}

}  // namespace satchel::kernels::cpu
