#include "kernels/reference/dequant.h"

#include <bit>
#include <cstdint>
#include <cstring>

#include "kernels/base/assert.h"
#include "kernels/base/half.h"

static_assert(std::endian::native == std::endian::little,
              "weights are read as they lie in the file");

namespace satchel::kernels {
namespace {

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
float load_half(const std::byte* at) {
  return half_to_float(load<Half>(at));
}
int byte_at(const std::byte* at, std::size_t i) {
  return std::to_integer<int>(at[i]);
}

// The 4-bit blocks of 32 keep value i in the low nibble of byte i and value i + 16 in its high
// nibble.
int nibble(const std::byte* codes, std::size_t i) {
  return i < 16 ? byte_at(codes, i) & 15 : byte_at(codes, i - 16) >> 4;
}
// The 5-bit blocks add bit i of a 32-bit word as the fifth bit of value i.
int five_bits(const std::byte* codes, std::uint32_t fifth, std::size_t i) {
  return nibble(codes, i) | static_cast<int>((fifth >> i) & 1u) << 4;
}

// fp16 d, 16 bytes of nibbles:  d * (code - 8)
void block_q4_0(const std::byte* block, float* out) {
  const float d = load_half(block);
  for (std::size_t i = 0; i < 32; ++i) out[i] = d * static_cast<float>(nibble(block + 2, i) - 8);
}

// fp16 d, fp16 m, 16 bytes of nibbles:  d * code + m
void block_q4_1(const std::byte* block, float* out) {
  const float d = load_half(block);
  const float m = load_half(block + 2);
  for (std::size_t i = 0; i < 32; ++i) out[i] = d * static_cast<float>(nibble(block + 4, i)) + m;
}

// fp16 d, uint32 of fifth bits, 16 bytes of nibbles:  d * (code - 16)
void block_q5_0(const std::byte* block, float* out) {
  const float d = load_half(block);
  const auto fifth = load<std::uint32_t>(block + 2);
  for (std::size_t i = 0; i < 32; ++i)
    out[i] = d * static_cast<float>(five_bits(block + 6, fifth, i) - 16);
}

// fp16 d, fp16 m, uint32 of fifth bits, 16 bytes of nibbles:  d * code + m
void block_q5_1(const std::byte* block, float* out) {
  const float d = load_half(block);
  const float m = load_half(block + 2);
  const auto fifth = load<std::uint32_t>(block + 4);
  for (std::size_t i = 0; i < 32; ++i)
    out[i] = d * static_cast<float>(five_bits(block + 8, fifth, i)) + m;
}

// fp16 d, 32 int8:  d * code
void block_q8_0(const std::byte* block, float* out) {
  const float d = load_half(block);
  for (std::size_t i = 0; i < 32; ++i)
    out[i] = d * static_cast<float>(load<std::int8_t>(block + 2 + i));
}

struct ScaleMin {
  int scale;
  int min;
};
// Q4_K packs eight 6-bit scales and eight 6-bit minima into 12 bytes: the first four of each lie in
// the low six bits of bytes 0-3 and 4-7, whose top two bits are the top two bits of the last four,
// whose low nibbles lie in bytes 8-11.
ScaleMin scale_min(const std::byte* packed, std::size_t group) {
  if (group < 4) return {byte_at(packed, group) & 63, byte_at(packed, group + 4) & 63};
  return {(byte_at(packed, group + 4) & 15) | (byte_at(packed, group - 4) >> 6) << 4,
          (byte_at(packed, group + 4) >> 4) | (byte_at(packed, group) >> 6) << 4};
}

// fp16 d, fp16 dmin, 12 bytes of scales and minima, 128 bytes of nibbles; eight groups of 32, a
// pair of groups shares 32 bytes, the first in the low nibbles:  (d * scale) * code - (dmin * min)
void block_q4_k(const std::byte* block, float* out) {
  const float d = load_half(block);
  const float dmin = load_half(block + 2);
  for (std::size_t group = 0; group < 8; ++group) {
    const ScaleMin sm = scale_min(block + 4, group);
    const float scale = d * static_cast<float>(sm.scale);
    const float min = dmin * static_cast<float>(sm.min);
    const std::byte* codes = block + 16 + group / 2 * 32;
    for (std::size_t i = 0; i < 32; ++i) {
      const int code = (byte_at(codes, i) >> (group % 2 * 4)) & 15;
      out[group * 32 + i] = scale * static_cast<float>(code) - min;
    }
  }
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
      const float scale = d * static_cast<float>(load<std::int8_t>(scales + v / 16));
      out[half * 128 + v] = scale * static_cast<float>(code - 32);
    }
  }
}

void one_f32(const std::byte* at, float* out) {
  *out = load<float>(at);
}
void one_f16(const std::byte* at, float* out) {
  *out = load_half(at);
}
void one_bf16(const std::byte* at, float* out) {
  *out = bfloat_to_float(load<std::uint16_t>(at));
}

using BlockReader = void (*)(const std::byte* block, float* out);
BlockReader block_reader(WeightType type) {
  switch (type) {
    case WeightType::f32:
      return one_f32;
    case WeightType::f16:
      return one_f16;
    case WeightType::bf16:
      return one_bf16;
    case WeightType::q4_0:
      return block_q4_0;
    case WeightType::q4_1:
      return block_q4_1;
    case WeightType::q5_0:
      return block_q5_0;
    case WeightType::q5_1:
      return block_q5_1;
    case WeightType::q8_0:
      return block_q8_0;
    case WeightType::q4_k:
      return block_q4_k;
    case WeightType::q6_k:
      return block_q6_k;
  }
  return nullptr;
}

}  // namespace

void dequantise_row(WeightType type, const std::byte* row, std::size_t n_values, float* out) {
  const BlockReader read = block_reader(type);
  SATCHEL_ASSERT(read != nullptr);
  const WeightTypeTraits& traits = weight_type_traits(type);
  SATCHEL_ASSERT(n_values % traits.block_values == 0);
  for (std::size_t done = 0; done < n_values;
       done += traits.block_values, row += traits.block_bytes)
    read(row, out + done);
}

}  // namespace satchel::kernels
