// Blocks of 256 values in groups of 16 or 32 with small integer scales.
#include "kernels/reference/dequant_blocks.h"
#include "kernels/reference/weight_codes.h"

namespace satchel::kernels {
namespace {

// The 2-bit codes of a block lie in 64 bytes; a half of 128 values shares 32 of them, run r of 32
// values has bits 2r.
int two_bits(const std::byte* codes, std::size_t v) {
  return (byte_at(codes, v / 128 * 32 + v % 32) >> (v / 32 % 4 * 2)) & 3;
}

// Two groups of 32 share 32 bytes, the first in the low nibbles.
int group_nibble(const std::byte* codes, std::size_t group, std::size_t i) {
  return (byte_at(codes, group / 2 * 32 + i) >> (group % 2 * 4)) & 15;
}

// (d * scale) * code - (dmin * min), for groups of 32; kFifth: bit g of byte i is the fifth bit of
// value i of group g.
template <bool kFifth>
void scaled_groups(const std::byte* block, const std::byte* fifth, const std::byte* codes,
                   float* out) {
  const float d = load_half(block);
  const float dmin = load_half(block + 2);
  for (std::size_t group = 0; group < 8; ++group) {
    const ScaleMin sm = scale_min(block + 4, group);
    const float scale = d * static_cast<float>(sm.scale);
    const float min = dmin * static_cast<float>(sm.min);
    for (std::size_t i = 0; i < 32; ++i) {
      int code = group_nibble(codes, group, i);
      if constexpr (kFifth) code |= ((byte_at(fifth, i) >> group) & 1) << 4;
      out[group * 32 + i] = scale * static_cast<float>(code) - min;
    }
  }
}

}  // namespace

// Eight 6-bit scales and eight 6-bit minima in 12 bytes: the first four of each lie in the low six
// bits of bytes 0-3 and 4-7, whose top two bits are the top two bits of the last four, whose low
// nibbles lie in bytes 8-11.
ScaleMin scale_min(const std::byte* packed, std::size_t group) {
  if (group < 4) return {byte_at(packed, group) & 63, byte_at(packed, group + 4) & 63};
  return {(byte_at(packed, group + 4) & 15) | (byte_at(packed, group - 4) >> 6) << 4,
          (byte_at(packed, group + 4) >> 4) | (byte_at(packed, group) >> 6) << 4};
}

// Sixteen 6-bit scales, 32 too large, in 12 bytes: low nibbles of the first eight, then of the last
// eight in the high nibbles; upper pairs of scale g in byte 8 + g % 4, bits 2 * (g / 4).
int scale_of_q3_k(const std::byte* packed, std::size_t group) {
  const int low = (byte_at(packed, group % 8) >> (group / 8 * 4)) & 15;
  return (low | ((byte_at(packed, 8 + group % 4) >> (group / 4 * 2)) & 3) << 4) - 32;
}

// fp16 d, uint16 of upper pairs, four bytes of low nibbles: eight scales, 32 too large.
int scale_of_iq4_xs(const std::byte* block, std::size_t group) {
  const int high = (load_number<std::uint16_t>(block + 2) >> (2 * group)) & 3;
  return (nibble_at(block + 4, group) | high << 4) - 32;
}

// 16 bytes of 4-bit scales and, in the high nibbles, minima of groups of 16, 64 bytes of 2-bit
// codes, fp16 d, fp16 dmin:  (d * scale) * code - (dmin * min)
void block_q2_k(const std::byte* block, float* out) {
  const float d = load_half(block + 80);
  const float dmin = load_half(block + 82);
  for (std::size_t v = 0; v < 256; ++v) {
    const int scales = byte_at(block, v / 16);
    const float scale = d * static_cast<float>(scales & 15);
    const float min = dmin * static_cast<float>(scales >> 4);
    out[v] = scale * static_cast<float>(two_bits(block + 16, v)) - min;
  }
}

// 32 bytes of third bits (bit g of byte i: value i of run g of 32), 64 bytes of 2-bit codes, 12
// bytes of scales of groups of 16, fp16 d:  (d * scale) * (code - 4)
void block_q3_k(const std::byte* block, float* out) {
  const float d = load_half(block + 108);
  for (std::size_t v = 0; v < 256; ++v) {
    const int third = (byte_at(block, v % 32) >> (v / 32)) & 1;
    const int code = two_bits(block + 32, v) | third << 2;
    const float scale = d * static_cast<float>(scale_of_q3_k(block + 96, v / 16));
    out[v] = scale * static_cast<float>(code - 4);
  }
}

// fp16 d, fp16 dmin, 12 bytes of scales and minima, 128 bytes of nibbles.
void block_q4_k(const std::byte* block, float* out) {
  scaled_groups<false>(block, nullptr, block + 16, out);
}

// The same with 32 bytes of fifth bits before the nibbles.
void block_q5_k(const std::byte* block, float* out) {
  scaled_groups<true>(block, block + 16, block + 48, out);
}

// 128 bytes of low nibbles, 64 bytes of upper bit pairs, 16 int8 scales (one for 16 values), fp16
// d. Each half of 128 values has four runs of 32: run r takes its nibbles from byte run r % 2 (low
// nibbles for r < 2, else high) and its upper pair from bits 2r:  (d * scale) * (code - 32)
void block_q6_k(const std::byte* block, float* out) {
  const float d = load_half(block + 208);
  for (std::size_t half = 0; half < 2; ++half) {
    const std::byte* low = block + half * 64;
    const std::byte* high = block + 128 + half * 32;
    const std::byte* scales = block + 192 + half * 8;
    for (std::size_t v = 0; v < 128; ++v) {
      const std::size_t run = v / 32;
      const std::size_t i = v % 32;
      const int nib = (byte_at(low, run % 2 * 32 + i) >> (run / 2 * 4)) & 15;
      const int code = nib | ((byte_at(high, i) >> (run * 2)) & 3) << 4;
      const float scale = d * static_cast<float>(load_number<std::int8_t>(scales + v / 16));
      out[half * 128 + v] = scale * static_cast<float>(code - 32);
    }
  }
}

// The scales' eight bytes, 128 bytes of nibbles by blocks of 32:  (d * scale) * value of the code
void block_iq4_xs(const std::byte* block, float* out) {
  const float d = load_half(block);
  for (std::size_t group = 0; group < 8; ++group) {
    const float scale = d * static_cast<float>(scale_of_iq4_xs(block, group));
    const std::byte* codes = block + 8 + group * 16;
    for (std::size_t i = 0; i < 32; ++i) {
      const auto code = static_cast<std::size_t>(split_nibble(codes, i));
      out[group * 32 + i] = scale * static_cast<float>(kIq4Values[code]);
    }
  }
}

// 48 bytes of five and 4 bytes of four ternary digits, fp16 d:  d * (digit - 1). A byte is its
// digits as a fraction of 256; times 3^n its digit n comes next, as what three times the byte
// carries. Digit n of the first 32 bytes are values 32n …, of the next 16 values 160 + 16n …, of
// the last four values 240 + 4n ….
void block_tq1_0(const std::byte* block, float* out) {
  const float d = load_half(block + 52);
  const auto read = [&](const std::byte* from, std::size_t n_bytes, std::size_t n_digits) {
    unsigned power = 1;
    for (std::size_t digit = 0; digit < n_digits; ++digit, power *= 3)
      for (std::size_t i = 0; i < n_bytes; ++i) {
        const auto fraction = static_cast<unsigned>(byte_at(from, i)) * power & 255u;
        *out++ = d * static_cast<float>(static_cast<int>(fraction * 3 >> 8) - 1);
      }
  };
  read(block, 32, 5);
  read(block + 32, 16, 5);
  read(block + 48, 4, 4);
}

// 64 bytes of 2-bit codes, fp16 d:  d * (code - 1)
void block_tq2_0(const std::byte* block, float* out) {
  const float d = load_half(block + 64);
  for (std::size_t v = 0; v < 256; ++v) out[v] = d * static_cast<float>(two_bits(block, v) - 1);
}

}  // namespace satchel::kernels
