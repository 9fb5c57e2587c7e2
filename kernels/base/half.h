// IEEE fp16 as stored in caches and weights. Conversion uses plain bit arithmetic, so every machine
// gives the same bits. SIMD units use F16C, which rounds the same way (nearest, ties to even);
// store_gather_test.cpp compares the two.
#pragma once

#include <bit>
#include <cstdint>

namespace satchel {

using Half = std::uint16_t;

inline float half_to_float(Half h) {
  const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000u) << 16;
  const std::uint32_t rest = h & 0x7fffu;
  if (rest >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | ((rest & 0x3ffu) << 13));
  if (rest >= 0x0400u) return std::bit_cast<float>(sign | ((rest << 13) + 0x38000000u));
  const float tiny = static_cast<float>(rest) * 0x1p-24f;  // subnormal: exact
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(tiny));
}

// Nearest, ties to even; beyond the range becomes infinity; NaN stays NaN.
inline Half float_to_half(float x) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(x);
  const auto sign = static_cast<std::uint32_t>((bits >> 16) & 0x8000u);
  const std::uint32_t rest = bits & 0x7fffffffu;
  if (rest > 0x7f800000u) return static_cast<Half>(sign | 0x7e00u);
  if (rest >= 0x477ff000u) return static_cast<Half>(sign | 0x7c00u);
  if (rest < 0x38800000u) {  // subnormal or zero: let the fp32 adder round at 2^-24
    const float magic = std::bit_cast<float>(rest) + 0.5f;  // ulp of 0.5 is 2^-24
    return static_cast<Half>(sign | (std::bit_cast<std::uint32_t>(magic) - 0x3f000000u));
  }
  const std::uint32_t odd = (rest >> 13) & 1u;
  return static_cast<Half>(sign | ((rest - 0x38000000u + 0xfffu + odd) >> 13));
}

// Rounds toward -infinity or +infinity; x is finite with |x| <= 65504. The quantisers' error bounds
// rely on these.
inline Half float_to_half_down(float x) {
  Half h = float_to_half(x);
  if (half_to_float(h) <= x) return h;
  if (h == 0x0000u) return 0x8001u;  // +0 for a tiny negative x
  return (h & 0x8000u) != 0 ? static_cast<Half>(h + 1) : static_cast<Half>(h - 1);
}
inline Half float_to_half_up(float x) {
  return static_cast<Half>(float_to_half_down(-x) ^ 0x8000u);
}

inline float bfloat_to_float(std::uint16_t b) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(b) << 16);
}

}  // namespace satchel
