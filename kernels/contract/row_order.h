// Where the codes of a packed row lie: fragment order along the row (the reduction axis), so that a tensor-core thread and
// a SIMD lane both find adjacent pairs in one 32-bit word.
//   words  the row is cut into spans of 128 / bits indices. Word (t, j), t = 0 … 3, belongs to span j and holds indices
//          span·j + 8·i + 2t and the next one for every step i. Words lie t-major: [t][j].
//   2, 4   step i: the even index at bit bits·i, the odd one at bits·i + 16
//   8      step i: the even index in byte 2i, the odd one in byte 2i + 1
//   source ../shared/methods/codecs.md 8.2 (golden: 4 bits, code = index mod 16, first word 0x91918080)
#pragma once

#include <cstddef>

namespace satchel::kernels {

struct CodePlace {
  std::size_t word = 0;  // of the row, 32 bits each, little-endian
  unsigned shift = 0;    // of the code inside its word
};

// Indices one set of four words covers: 64 (2 bits), 32 (4 bits), 16 (8 bits). A row's length is a multiple.
constexpr std::size_t word_span(std::size_t bits) {
  return 128 / bits;
}

constexpr CodePlace code_place(std::size_t bits, std::size_t n_row, std::size_t index) {
  const std::size_t span = word_span(bits), j = index / span, step = index % span / 8;
  const std::size_t t = index % 8 / 2, odd = index % 2;
  const std::size_t shift = bits == 8 ? 16 * step + 8 * odd : bits * step + 16 * odd;
  return {t * (n_row / span) + j, static_cast<unsigned>(shift)};
}

// Where a row index stands in the planes that follow the row's order (scales, zeros): t-major like the words, so that what
// one tensor-core thread needs is contiguous.
constexpr std::size_t plane_slot(std::size_t n_row, std::size_t index) {
  return index % 8 / 2 * (n_row / 4) + index / 8 * 2 + index % 2;
}

}  // namespace satchel::kernels
