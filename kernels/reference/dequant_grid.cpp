// The IQ types of 1 to 3 bits: blocks of 256 values that are rows of a code book (weight_grids.h),
// eight at a time ("octets"), with signs or a shift of their own.
#include <array>
#include <bit>

#include "kernels/reference/dequant_blocks.h"
#include "kernels/reference/weight_grids.h"

namespace satchel::kernels {
namespace {

constexpr std::array<float, 4> kIq2Fields = {8, 25, 43, 0};
constexpr std::array<float, 8> kIq3XxsFields = {4, 12, 20, 28, 36, 44, 52, 62};

// Seven sign bits; the eighth makes their number even.
unsigned even_signs(unsigned seven) {
  return seven | (static_cast<unsigned>(std::popcount(seven)) & 1u) << 7;
}
// Without a branch, which would be guessed wrong every other time.
float signed_value(float value, unsigned signs, std::size_t i) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ (signs >> i & 1u) << 31);
}

// (scale * field), negated where its sign bit is set.
void octet_iq2(unsigned entry, unsigned signs, float scale, float* out) {
  for (std::size_t i = 0; i < 8; ++i)
    out[i] = signed_value(scale * kIq2Fields[(entry >> (2 * i)) & 3], signs, i);
}
template <class Field>
void octet_iq3(const Field& field, unsigned first, unsigned second, unsigned signs, float scale,
               float* out) {
  for (std::size_t i = 0; i < 8; ++i) {
    const unsigned entry = i < 4 ? first : second;
    out[i] = signed_value(scale * field((entry >> (i % 4 * 4)) & 7), signs, i);
  }
}
// scale * (field + shift), fields -1, 0, 1
void octet_iq1(unsigned entry, float shift, float scale, float* out) {
  for (std::size_t i = 0; i < 8; ++i)
    out[i] = scale * (static_cast<float>(static_cast<int>((entry >> (2 * i)) & 3) - 1) + shift);
}

constexpr float kIq1Shift = 0.125f;

}  // namespace

// fp16 d, then for each 32 values: four byte indices, a word of four times seven signs and, on top,
// a 4-bit scale:  d * (0.5 + scale) * 0.25
void block_iq2_xxs(const std::byte* block, float* out) {
  const float d = load_half(block);
  for (std::size_t group = 0; group < 8; ++group) {
    const std::byte* at = block + 2 + group * 8;
    const auto word = load<std::uint32_t>(at + 4);
    const float scale = d * (0.5f + static_cast<float>(word >> 28)) * 0.25f;
    for (std::size_t o = 0; o < 4; ++o, out += 8)
      octet_iq2(kGridIq2Xxs[byte_at(at, o)], even_signs(word >> (7 * o) & 127u), scale, out);
  }
}

// fp16 d, 32 words of a 9-bit index and seven signs, 16 nibbles of scales:  d * (0.5 + s) * 0.25
void block_iq2_xs(const std::byte* block, float* out) {
  const float d = load_half(block);
  for (std::size_t o = 0; o < 32; ++o, out += 8) {
    const unsigned word = load<std::uint16_t>(block + 2 + 2 * o);
    const auto scale = static_cast<float>(nibble_at(block + 66, o / 2));
    octet_iq2(kGridIq2Xs[word & 511], even_signs(word >> 9), d * (0.5f + scale) * 0.25f, out);
  }
}

// fp16 d, 32 bytes of indices, 32 bytes of signs, 32 upper pairs of indices, 16 nibbles of scales:
// d * (0.5 + s) * 0.25
void block_iq2_s(const std::byte* block, float* out) {
  const float d = load_half(block);
  for (std::size_t o = 0; o < 32; ++o, out += 8) {
    const int upper = (byte_at(block + 66, o / 4) >> (o % 4 * 2)) & 3;
    const auto scale = static_cast<float>(nibble_at(block + 74, o / 2));
    octet_iq2(kGridIq2S[byte_at(block + 2, o) | upper << 8],
              static_cast<unsigned>(byte_at(block + 34, o)), d * (0.5f + scale) * 0.25f, out);
  }
}

// fp16 d, 64 bytes of indices, eight words of four times seven signs and a 4-bit scale:
// d * (0.5 + s) * 0.5
void block_iq3_xxs(const std::byte* block, float* out) {
  const float d = load_half(block);
  const auto field = [](unsigned code) { return kIq3XxsFields[code]; };
  for (std::size_t o = 0; o < 32; ++o, out += 8) {
    const auto word = load<std::uint32_t>(block + 66 + o / 4 * 4);
    const float scale = d * (0.5f + static_cast<float>(word >> 28)) * 0.5f;
    const std::byte* index = block + 2 + 2 * o;
    octet_iq3(field, kGridIq3Xxs[byte_at(index, 0)], kGridIq3Xxs[byte_at(index, 1)],
              even_signs(word >> (o % 4 * 7) & 127u), scale, out);
  }
}

// fp16 d, 64 bytes of indices, 64 ninth bits, 32 bytes of signs, 8 nibbles of scales:
// d * (1 + 2 s), fields 1, 3 … 15
void block_iq3_s(const std::byte* block, float* out) {
  const float d = load_half(block);
  const auto field = [](unsigned code) { return static_cast<float>(2 * code + 1); };
  for (std::size_t o = 0; o < 32; ++o, out += 8) {
    const auto entry = [&](std::size_t i) {
      const int ninth = (byte_at(block + 66, o / 4) >> (o % 4 * 2 + i)) & 1;
      return kGridIq3S[byte_at(block + 2, 2 * o + i) | ninth << 8];
    };
    const float scale = d * static_cast<float>(1 + 2 * nibble_at(block + 106, o / 4));
    octet_iq3(field, entry(0), entry(1), static_cast<unsigned>(byte_at(block + 74, o)), scale, out);
  }
}

// fp16 d, 32 bytes of indices, for each 32 values a word: four times three upper bits of indices, a
// 3-bit scale, the sign of the shift:  d * (2 s + 1)
void block_iq1_s(const std::byte* block, float* out) {
  const float d = load_half(block);
  for (std::size_t o = 0; o < 32; ++o, out += 8) {
    const int word = load<std::uint16_t>(block + 34 + o / 4 * 2);
    const float scale = d * static_cast<float>(2 * ((word >> 12) & 7) + 1);
    const int upper = (word >> (o % 4 * 3)) & 7;
    octet_iq1(kGridIq1[byte_at(block + 2, o) | upper << 8],
              (word & 0x8000) != 0 ? -kIq1Shift : kIq1Shift, scale, out);
  }
}

// 32 bytes of indices, 32 nibbles of three upper bits and the shift's sign, four words: the upper
// nibbles are fp16 d from its lowest on, the lower twelve bits four 3-bit scales, one for 16 values.
void block_iq1_m(const std::byte* block, float* out) {
  const auto word = [&](std::size_t i) {
    return unsigned{load<std::uint16_t>(block + 48 + 2 * i)};
  };
  const float d = half_to_float(static_cast<Half>(word(0) >> 12 | (word(1) >> 8 & 0xf0) |
                                                  (word(2) >> 4 & 0xf00) | (word(3) & 0xf000)));
  for (std::size_t o = 0; o < 32; ++o, out += 8) {
    const unsigned s = (word(o / 8) >> (o / 2 % 4 * 3)) & 7;
    const int upper = nibble_at(block + 32, o);
    octet_iq1(kGridIq1[byte_at(block, o) | (upper & 7) << 8],
              (upper & 8) != 0 ? -kIq1Shift : kIq1Shift, d * static_cast<float>(2 * s + 1), out);
  }
}

}  // namespace satchel::kernels
