// Mixed-bit keys (contract/mixed_bit.h): one scale and zero per channel of a page, found by trying
// ranges.
//   range   from the channel's smallest to its largest value, or a narrower range about the middle
//           if its sum of squared errors is smaller: at 1 to 3 bits, rare values would take
//           resolution from the others. The wider range wins ties
//   bound   the error of a value is at most half a step and the rounding of two halves, or its
//           distance from the range
//   bytes   each operation is one rounding of fp32 in a fixed order per channel: the same on any
//           machine
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/contract/page_layout.h"

namespace satchel::kernels::reference {

// The ranges tried, as shares of half the distance from least to largest. For normal values two
// levels are best at 0.3 of the range of 128 tokens, four at 0.6, sixteen at 0.9.
inline constexpr float kMixedBitRatios[] = {1, 0.9f, 0.8f, 0.7f, 0.6f, 0.5f, 0.4f, 0.3f};
inline constexpr float kMixedBitStepMax = 65504;  // of fp16
// (x + this) - this is x rounded to the nearest, ties to even, for magnitudes below 2^22:
// 1.5 · 2^23, where the unit in the last place is 1.
inline constexpr float kMixedBitRounding = 12582912;

// Encodes x [n_tokens, head_dim], mended and transformed, into the operand's planes, which are
// zero. A channel without bits is stored as its mean.
void encode_mixed_bit(const PageLayout& layout, const OperandLayout& operand, const float* x,
                      std::size_t n_tokens, std::byte* page);
// Writes codes [n_tokens, head_dim] into the plane, which is zero.
void put_mixed_bit_codes(const PageLayout& layout, const OperandLayout& operand,
                         const std::uint8_t* codes, std::size_t n_tokens, std::byte* page);
// Safe for arbitrary bytes.
void decode_mixed_bit(const PageLayout& layout, const OperandLayout& operand, const std::byte* page,
                      std::size_t n_tokens, float* out);

}  // namespace satchel::kernels::reference
