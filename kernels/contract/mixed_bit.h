// The bit order of mixed-bit planes (page_layout.h, "mixed-bit"): keys whose channels have
// different widths, more bits where they matter and none where they do not.
//   parts   a quad of b bits is stored as the fewest parts of 4, 2 and 1 bits, upper bits first
//           (7 = 4 + 2 + 1, 8 = 4 + 4). Quads follow one another, and so do a quad's parts.
//   words   a part of w bits has W = capacity · w / 8 little-endian words of 32 bits. Channels 0,
//           1, 2, 3 of the quad are bytes 0, 2, 1, 3 of a word. Token t is in word t % W, at bit
//           (t / W) · w of its byte.
//   why     a register of words holds neighbouring tokens. Masking every other byte leaves
//           neighbouring channels in 16-bit halves, as vpmaddwd and vpdpwssd need them.
//   linkage always inlined, as in row_order.h, because units for one instruction level use it
//   source  ours; different widths for transform coefficients: Huang and Schultheiss 1963
#pragma once

#include <cstddef>

#include "kernels/contract/page_layout.h"

namespace satchel::kernels {

// The width of a quad's next part, with `left` >= 1 bits still to store.
[[gnu::always_inline]] constexpr unsigned part_bits(unsigned left) {
  return left >= 4 ? 4 : left >= 2 ? 2 : 1;
}
[[gnu::always_inline]] constexpr std::size_t part_bytes(std::size_t capacity, unsigned bits) {
  return capacity * kQuad * bits / 8;
}

// The place in a part of one token's code of channel `channel` (0 to 3) of the quad.
struct PartPlace {
  std::size_t byte;
  unsigned shift;
};
[[gnu::always_inline]] constexpr PartPlace part_place(std::size_t capacity, unsigned bits,
                                                      std::size_t token, std::size_t channel) {
  const std::size_t n_words = capacity * bits / 8;
  const std::size_t of_channel = channel == 1 ? 2 : channel == 2 ? 1 : channel;
  return {.byte = token % n_words * 4 + of_channel,
          .shift = static_cast<unsigned>(token / n_words) * bits};
}

// Calls body(first channel of the quad, bits below this part, its bits, its offset in the plane)
// for every part, in storage order.
template <class Body>
void for_each_part(const OperandLayout& mixed_bit, std::size_t head_dim, std::size_t capacity,
                   const Body& body) {
  std::size_t at = 0;
  for (std::size_t quad = 0; quad < head_dim / kQuad; ++quad)
    for (unsigned left = mixed_bit.quad_bits[quad]; left > 0;) {
      const unsigned bits = part_bits(left);
      left -= bits;
      body(quad * kQuad, left, bits, at);
      at += part_bytes(capacity, bits);
    }
}

}  // namespace satchel::kernels
