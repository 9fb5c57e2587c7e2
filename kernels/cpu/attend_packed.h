// The order in which the packed kernel wants a query: word by word of a 2-bit row it shifts out one
// pair of codes after the other, so the operand lies pair by pair: plane [i][w] holds the entry of
// slot 16·w + 2·i for the n / 16 words w of a row and the pairs i = 0 … 7; first the plane of even
// slots, then that of the odd ones (slot + 1).
#pragma once

#include <cstddef>

#include "kernels/contract/page_layout.h"
#include "kernels/contract/row_order.h"

namespace satchel::kernels::cpu {

// Which pages have a kernel of their own for few rows.
inline bool packed_fits(const PageLayout& layout) {
  const std::size_t d = layout.head_dim, capacity = layout.capacity;
  const auto two_bits = [](const OperandLayout& operand) {
    return operand.is_affine() && operand.planes[0].bits == 2;
  };
  return two_bits(layout.k) && two_bits(layout.v) && (d == 64 || d == 128 || d == 256) &&
         (capacity == 32 || capacity == 64 || capacity == 128);
}

inline void to_planes(const float* row, std::size_t n, float* planes) {
  const std::size_t n_words = n / 16;
  for (std::size_t w = 0; w < n_words; ++w) {
    for (std::size_t i = 0; i < 8; ++i) {
      planes[i * n_words + w] = row[entry_of_slot(n, 16 * w + 2 * i)];
      planes[n / 2 + i * n_words + w] = row[entry_of_slot(n, 16 * w + 2 * i + 1)];
    }
  }
}

}  // namespace satchel::kernels::cpu
