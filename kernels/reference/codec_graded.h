// Graded keys (contract/graded.h): one scale and zero per channel of a page, found by trying ranges.
//   range   the channel's least to largest value, or a narrower one around the middle where that misses
//           less in sum of squares: at 1 to 3 bits rare values would cost the others their steps. Ties to
//           the wider
//   bound   a value misses by at most half a step, or by what lies outside the range
//   bytes   each operation is one rounding of fp32 in a fixed order per channel: the same on any machine
#pragma once

#include <cstddef>

#include "kernels/contract/page_layout.h"

namespace satchel::kernels::reference {

// x [n_tokens, head_dim], mended and turned, into the operand's planes, which are zero. A channel without
// bits is its mean.
void encode_graded(const PageLayout& layout, const OperandLayout& operand, const float* x,
                   std::size_t n_tokens, std::byte* page);
// Safe on any bytes.
void decode_graded(const PageLayout& layout, const OperandLayout& operand, const std::byte* page,
                   std::size_t n_tokens, float* out);

}  // namespace satchel::kernels::reference
