// Where the bits of a graded operand lie (page_layout.h): keys whose channels have unlike numbers of
// bits, many where they matter, none where they do not.
//   parts   a quad of b bits is stored in parts of 4, 2 and 1 bits, as few as make b, the upper bits
//           first (7 = 4 + 2 + 1, 8 = 4 + 4); quads follow one another, and a quad's parts
//   words   a part of w bits has W = capacity · w / 8 little-endian words of 32 bits; byte of channel c
//           of the quad is 0, 2, 1, 3 for c = 0, 1, 2, 3; token t lies in word t % W at bit
//           (t / W) · w of that byte. So a register of words is neighbouring tokens, and masking every
//           other byte leaves neighbouring channels in 16-bit halves, as a dot product of pairs
//           (vpmaddwd, vpdpwssd) wants them
//   linkage always inlined, as row_order.h: units for one instruction level use it
//   source  ours; unlike bits for the coefficients of a transform are transform coding (Huang and
//           Schultheiss 1963)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/contract/page_layout.h"

namespace satchel::kernels {

// The next part of a quad of which `left` bits, at least 1, are still to come.
[[gnu::always_inline]] constexpr unsigned part_bits(unsigned left) {
  return left >= 4 ? 4 : left >= 2 ? 2 : 1;
}
[[gnu::always_inline]] constexpr std::size_t part_bytes(std::size_t capacity, unsigned bits) {
  return capacity * kQuad * bits / 8;
}

// Where one token's field of channel `channel` (0 to 3) of a quad lies in a part.
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

// body(channel of the quad's first, bits below this part, its bits, its offset in the plane) for every
// part, as they lie.
template <class Body>
void for_each_part(const OperandLayout& graded, std::size_t head_dim, std::size_t capacity,
                   const Body& body) {
  std::size_t at = 0;
  for (std::size_t quad = 0; quad < head_dim / kQuad; ++quad)
    for (unsigned left = graded.quad_bits[quad]; left > 0;) {
      const unsigned bits = part_bits(left);
      left -= bits;
      body(quad * kQuad, left, bits, at);
      at += part_bytes(capacity, bits);
    }
}

}  // namespace satchel::kernels
