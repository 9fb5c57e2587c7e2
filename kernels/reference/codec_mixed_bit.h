// Mixed-bit keys (contract/mixed_bit.h): one scale and zero per channel of a page, found by trying
// ranges.
//   range   the channel's least to largest value, or a narrower one around the middle where that
//           misses less in sum of squares: at 1 to 3 bits rare values would cost the others their
//           steps. Ties to the wider
//   bound   a value misses by at most half a step and the rounding of two halves, or by what lies
//           outside the range
//   bytes   each operation is one rounding of fp32 in a fixed order per channel: the same on any
//           machine
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/contract/page_layout.h"

namespace satchel::kernels::reference {

// Of half the distance from least to largest. Two levels of a normal channel lie best at 0.3 of
// what 128 tokens reach, four at 0.6, sixteen at 0.9.
inline constexpr float kMixedBitRatios[] = {1, 0.9f, 0.8f, 0.7f, 0.6f, 0.5f, 0.4f, 0.3f};
inline constexpr float kMixedBitStepMax = 65504;  // of fp16
// (x + this) - this is x rounded to the nearest, ties to even, for magnitudes below 2^22:
// 1.5 · 2^23, where the unit in the last place is 1.
inline constexpr float kMixedBitRounding = 12582912;

// x [n_tokens, head_dim], mended and transformed, into the operand's planes, which are zero. A
// channel without bits is its mean.
void encode_mixed_bit(const PageLayout& layout, const OperandLayout& operand, const float* x,
                      std::size_t n_tokens, std::byte* page);
// Codes [n_tokens, head_dim] into the plane, which is zero.
void put_mixed_bit_codes(const PageLayout& layout, const OperandLayout& operand,
                         const std::uint8_t* codes, std::size_t n_tokens, std::byte* page);
// Safe on any bytes.
void decode_mixed_bit(const PageLayout& layout, const OperandLayout& operand, const std::byte* page,
                      std::size_t n_tokens, float* out);

}  // namespace satchel::kernels::reference
