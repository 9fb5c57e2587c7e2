// The readers behind dequantise_row(): one block, at any alignment, to block_values fp32 values.
// The definitions describe formats and the order of rounding.
#pragma once

#include <cstddef>

#include "kernels/base/half.h"
#include "kernels/base/load_number.h"

namespace satchel::kernels {

inline float load_half(const std::byte* at) {
  return half_to_float(load_number<Half>(at));
}
inline int byte_at(const std::byte* at, std::size_t i) {
  return std::to_integer<int>(at[i]);
}
// Four bits of a run of nibbles, the low one of a byte first.
inline int nibble_at(const std::byte* at, std::size_t i) {
  return (byte_at(at, i / 2) >> (i % 2 * 4)) & 15;
}
// The 4-bit blocks of 32 keep value i in the low nibble of byte i and value i + 16 in its high
// nibble.
inline int split_nibble(const std::byte* codes, std::size_t i) {
  return i < 16 ? byte_at(codes, i) & 15 : byte_at(codes, i - 16) >> 4;
}
// 2^(exponent - 128): the scale of MXFP4, half of E8M0's since kFp4Values are doubled.
float half_of_e8m0(int exponent);

struct ScaleMin {
  int scale;
  int min;
};
ScaleMin scale_min(const std::byte* packed, std::size_t group);  // of Q4_K, Q5_K
int scale_of_q3_k(const std::byte* packed, std::size_t group);   // -32 … 31
int scale_of_iq4_xs(const std::byte* block, std::size_t group);  // -32 … 31

// dequant_k.cpp
void block_q2_k(const std::byte* block, float* out);
void block_q3_k(const std::byte* block, float* out);
void block_q4_k(const std::byte* block, float* out);
void block_q5_k(const std::byte* block, float* out);
void block_q6_k(const std::byte* block, float* out);
void block_iq4_xs(const std::byte* block, float* out);
void block_tq1_0(const std::byte* block, float* out);
void block_tq2_0(const std::byte* block, float* out);

}  // namespace satchel::kernels
