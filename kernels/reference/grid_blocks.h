// Where the IQ types of 1 to 3 bits keep what makes up eight values ("octets"), for readers that
// differ in how they make them: plain loops (dequant.cpp) or registers of a level.
//   Ops  half(at): an fp16 as fp32
//        iq1(entry, shift, scale, out)   scale * (field + shift), fields -1, 0, 1 of two bits
//        iq2(entry, signs, scale, out)   scale * field, fields 8, 25, 43 of two bits
//        iq3_xxs, iq3_s(entries, signs, scale, out)  the same, fields 4, 12 … 52, 62 and 1, 3 … 15
//        of four bits each. Bit i of `signs` negates value i. Has internal linkage, and so has what
//        is made of it here: units of a level read this
//   math each product and sum rounds to fp32, in the order written
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/reference/weight_grids.h"

namespace satchel::kernels {

template <class Ops>
struct GridBlocks {
  // fp16 d, then for each 32 values: four byte indices, a word of four times seven signs and, on
  // top, a 4-bit scale:  d * (0.5 + scale) * 0.25
  static void iq2_xxs(const std::byte* block, float* out) {
    const float d = Ops::half(block);
    for (std::size_t group = 0; group < 8; ++group) {
      const std::byte* at = block + 2 + group * 8;
      const std::uint32_t word = word_at<std::uint32_t>(at + 4);
      const float scale = d * (0.5f + static_cast<float>(word >> 28)) * 0.25f;
      for (std::size_t o = 0; o < 4; ++o, out += 8)
        Ops::iq2(kGridIq2Xxs[byte(at, o)], even(word >> (7 * o) & 127u), scale, out);
    }
  }

  // fp16 d, 32 words of a 9-bit index and seven signs, 16 nibbles of scales:  d * (0.5 + s) * 0.25
  static void iq2_xs(const std::byte* block, float* out) {
    const float d = Ops::half(block);
    for (std::size_t o = 0; o < 32; ++o, out += 8) {
      const unsigned word = word_at<std::uint16_t>(block + 2 + 2 * o);
      const auto scale = static_cast<float>(nibble(block + 66, o / 2));
      Ops::iq2(kGridIq2Xs[word & 511], even(word >> 9), d * (0.5f + scale) * 0.25f, out);
    }
  }

  // fp16 d, 32 bytes of indices, 32 bytes of signs, 32 upper pairs of indices, 16 nibbles of
  // scales:  d * (0.5 + s) * 0.25
  static void iq2_s(const std::byte* block, float* out) {
    const float d = Ops::half(block);
    for (std::size_t o = 0; o < 32; ++o, out += 8) {
      const unsigned upper = byte(block + 66, o / 4) >> (o % 4 * 2) & 3;
      const auto scale = static_cast<float>(nibble(block + 74, o / 2));
      Ops::iq2(kGridIq2S[byte(block + 2, o) | upper << 8], byte(block + 34, o),
               d * (0.5f + scale) * 0.25f, out);
    }
  }

  // fp16 d, 64 bytes of indices, eight words of four times seven signs and a 4-bit scale:
  // d * (0.5 + s) * 0.5
  static void iq3_xxs(const std::byte* block, float* out) {
    const float d = Ops::half(block);
    for (std::size_t o = 0; o < 32; ++o, out += 8) {
      const std::uint32_t word = word_at<std::uint32_t>(block + 66 + o / 4 * 4);
      const float scale = d * (0.5f + static_cast<float>(word >> 28)) * 0.5f;
      const std::uint32_t first = kGridIq3Xxs[byte(block + 2, 2 * o)];
      const std::uint32_t second = kGridIq3Xxs[byte(block + 2, 2 * o + 1)];
      Ops::iq3_xxs(first | second << 16, even(word >> (o % 4 * 7) & 127u), scale, out);
    }
  }

  // fp16 d, 64 bytes of indices, 64 ninth bits, 32 bytes of signs, 8 nibbles of scales:
  // d * (1 + 2 s)
  static void iq3_s(const std::byte* block, float* out) {
    const float d = Ops::half(block);
    for (std::size_t o = 0; o < 32; ++o, out += 8) {
      const unsigned ninth = byte(block + 66, o / 4) >> (o % 4 * 2);
      const std::uint32_t first = kGridIq3S[byte(block + 2, 2 * o) | (ninth & 1) << 8];
      const std::uint32_t second = kGridIq3S[byte(block + 2, 2 * o + 1) | (ninth & 2) << 7];
      const float scale = d * static_cast<float>(1 + 2 * nibble(block + 106, o / 4));
      Ops::iq3_s(first | second << 16, byte(block + 74, o), scale, out);
    }
  }

  // fp16 d, 32 bytes of indices, for each 32 values a word: four times three upper bits of indices,
  // a 3-bit scale, the sign of the shift:  d * (2 s + 1)
  static void iq1_s(const std::byte* block, float* out) {
    const float d = Ops::half(block);
    for (std::size_t o = 0; o < 32; ++o, out += 8) {
      const unsigned word = word_at<std::uint16_t>(block + 34 + o / 4 * 2);
      const float scale = d * static_cast<float>(2 * (word >> 12 & 7) + 1);
      const unsigned upper = word >> (o % 4 * 3) & 7;
      Ops::iq1(kGridIq1[byte(block + 2, o) | upper << 8], shift(word >> 15), scale, out);
    }
  }

  // 32 bytes of indices, 32 nibbles of three upper bits and the shift's sign, four words: the upper
  // nibbles are fp16 d from its lowest on, the lower twelve bits four 3-bit scales, one for 16
  // values:  d * (2 s + 1)
  static void iq1_m(const std::byte* block, float* out) {
    unsigned words[4], half = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      words[i] = word_at<std::uint16_t>(block + 48 + 2 * i);
      half |= words[i] >> 12 << (4 * i);
    }
    const auto bits = static_cast<std::uint16_t>(half);
    const float d = Ops::half(reinterpret_cast<const std::byte*>(&bits));
    for (std::size_t o = 0; o < 32; ++o, out += 8) {
      const unsigned s = words[o / 8] >> (o / 2 % 4 * 3) & 7;
      const unsigned upper = nibble(block + 32, o);
      Ops::iq1(kGridIq1[byte(block, o) | (upper & 7) << 8], shift(upper >> 3),
               d * static_cast<float>(2 * s + 1), out);
    }
  }

 private:
  template <class T>
  [[gnu::always_inline]] static T word_at(const std::byte* at) {
    T value;
    __builtin_memcpy(&value, at, sizeof value);
    return value;
  }
  [[gnu::always_inline]] static unsigned byte(const std::byte* at, std::size_t i) {
    return static_cast<unsigned>(at[i]);
  }
  [[gnu::always_inline]] static unsigned nibble(const std::byte* at, std::size_t i) {
    return static_cast<unsigned>(at[i / 2]) >> (i % 2 * 4) & 15u;
  }
  // Seven sign bits; the eighth makes their number even.
  [[gnu::always_inline]] static unsigned even(unsigned seven) {
    return seven | static_cast<unsigned>(__builtin_parity(seven)) << 7;
  }
  [[gnu::always_inline]] static float shift(unsigned negative) {
    return (negative & 1u) != 0 ? -0.125f : 0.125f;
  }
};

}  // namespace satchel::kernels
