#include "kernels/reference/dequant.h"

#include <array>
#include <bit>
#include <cstdint>
#include <iterator>
#include <utility>

#include "kernels/base/assert.h"
#include "kernels/base/half.h"
#include "kernels/reference/dequant_blocks.h"
#include "kernels/reference/grid_blocks.h"
#include "kernels/reference/weight_codes.h"

namespace satchel::kernels {
namespace {

// The 5-bit blocks add bit i of a 32-bit word as the fifth bit of value i.
int five_bits(const std::byte* codes, std::uint32_t fifth, std::size_t i) {
  return split_nibble(codes, i) | static_cast<int>((fifth >> i) & 1u) << 4;
}

// fp16 d, 16 bytes of nibbles:  d * (code - 8)
void block_q4_0(const std::byte* block, float* out) {
  const float d = load_half(block);
  for (std::size_t i = 0; i < 32; ++i)
    out[i] = d * static_cast<float>(split_nibble(block + 2, i) - 8);
}

// fp16 d, fp16 m, 16 bytes of nibbles:  d * code + m
void block_q4_1(const std::byte* block, float* out) {
  const float d = load_half(block);
  const float m = load_half(block + 2);
  for (std::size_t i = 0; i < 32; ++i)
    out[i] = d * static_cast<float>(split_nibble(block + 4, i)) + m;
}

// fp16 d, uint32 of fifth bits, 16 bytes of nibbles:  d * (code - 16)
void block_q5_0(const std::byte* block, float* out) {
  const float d = load_half(block);
  const auto fifth = load_number<std::uint32_t>(block + 2);
  for (std::size_t i = 0; i < 32; ++i)
    out[i] = d * static_cast<float>(five_bits(block + 6, fifth, i) - 16);
}

// fp16 d, fp16 m, uint32 of fifth bits, 16 bytes of nibbles:  d * code + m
void block_q5_1(const std::byte* block, float* out) {
  const float d = load_half(block);
  const float m = load_half(block + 2);
  const auto fifth = load_number<std::uint32_t>(block + 4);
  for (std::size_t i = 0; i < 32; ++i)
    out[i] = d * static_cast<float>(five_bits(block + 8, fifth, i)) + m;
}

// fp16 d, 32 int8:  d * code
void block_q8_0(const std::byte* block, float* out) {
  const float d = load_half(block);
  for (std::size_t i = 0; i < 32; ++i)
    out[i] = d * static_cast<float>(load_number<std::int8_t>(block + 2 + i));
}

// fp16 d, 16 bytes of nibbles:  d * value of the code
void block_iq4_nl(const std::byte* block, float* out) {
  const float d = load_half(block);
  for (std::size_t i = 0; i < 32; ++i)
    out[i] = d * kIq4Values[static_cast<std::size_t>(split_nibble(block + 2, i))];
}

// An exponent, 16 bytes of nibbles:  scale * value of the code
void block_mxfp4(const std::byte* block, float* out) {
  const float scale = half_of_e8m0(byte_at(block, 0));
  for (std::size_t i = 0; i < 32; ++i)
    out[i] = scale * kFp4Values[static_cast<std::size_t>(split_nibble(block + 1, i))];
}

void one_f32(const std::byte* at, float* out) {
  *out = load_number<float>(at);
}
void one_f16(const std::byte* at, float* out) {
  *out = load_half(at);
}
void one_bf16(const std::byte* at, float* out) {
  *out = bfloat_to_float(load_number<std::uint16_t>(at));
}

// Without a branch, which would be mispredicted half the time.
float signed_value(float value, unsigned signs, std::size_t i) {
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) ^ (signs >> i & 1u) << 31);
}

// The IQ types of 1 to 3 bits (grid_blocks.h).
struct PlainOps {
  static float half(const std::byte* at) { return load_half(at); }

  static void iq1(unsigned entry, float shift, float scale, float* out) {
    for (std::size_t i = 0; i < 8; ++i) {
      const int field = static_cast<int>(entry >> (2 * i) & 3u) - 1;
      out[i] = scale * (static_cast<float>(field) + shift);
    }
  }
  static void iq2(unsigned entry, unsigned signs, float scale, float* out) {
    static constexpr std::array<float, 4> kFields = {8, 25, 43, 0};
    for (std::size_t i = 0; i < 8; ++i)
      out[i] = signed_value(scale * kFields[entry >> (2 * i) & 3u], signs, i);
  }
  static void iq3_xxs(std::uint32_t entries, unsigned signs, float scale, float* out) {
    static constexpr std::array<float, 8> kFields = {4, 12, 20, 28, 36, 44, 52, 62};
    for (std::size_t i = 0; i < 8; ++i)
      out[i] = signed_value(scale * kFields[entries >> (4 * i) & 7u], signs, i);
  }
  static void iq3_s(std::uint32_t entries, unsigned signs, float scale, float* out) {
    for (std::size_t i = 0; i < 8; ++i) {
      const auto field = static_cast<float>(2 * (entries >> (4 * i) & 7u) + 1);
      out[i] = signed_value(scale * field, signs, i);
    }
  }
};
using Grid = GridBlocks<PlainOps>;

using BlockReader = void (*)(const std::byte* block, float* out);
constexpr std::pair<WeightType, BlockReader> kReaders[] = {
    {WeightType::f32, one_f32},           {WeightType::f16, one_f16},
    {WeightType::bf16, one_bf16},         {WeightType::q4_0, block_q4_0},
    {WeightType::q4_1, block_q4_1},       {WeightType::q5_0, block_q5_0},
    {WeightType::q5_1, block_q5_1},       {WeightType::q8_0, block_q8_0},
    {WeightType::q2_k, block_q2_k},       {WeightType::q3_k, block_q3_k},
    {WeightType::q4_k, block_q4_k},       {WeightType::q5_k, block_q5_k},
    {WeightType::q6_k, block_q6_k},       {WeightType::iq1_s, Grid::iq1_s},
    {WeightType::iq1_m, Grid::iq1_m},     {WeightType::iq2_xxs, Grid::iq2_xxs},
    {WeightType::iq2_xs, Grid::iq2_xs},   {WeightType::iq2_s, Grid::iq2_s},
    {WeightType::iq3_xxs, Grid::iq3_xxs}, {WeightType::iq3_s, Grid::iq3_s},
    {WeightType::iq4_nl, block_iq4_nl},   {WeightType::iq4_xs, block_iq4_xs},
    {WeightType::mxfp4, block_mxfp4},     {WeightType::tq1_0, block_tq1_0},
    {WeightType::tq2_0, block_tq2_0},
};
static_assert(std::size(kReaders) == kWeightTypes.size());

BlockReader block_reader(WeightType type) {
  for (const auto& [of, read] : kReaders)
    if (of == type) return read;
  return nullptr;
}

}  // namespace

float half_of_e8m0(int exponent) {
  const auto e = static_cast<std::uint32_t>(exponent);
  return std::bit_cast<float>(e < 2 ? 0x00200000u << e : (e - 1) << 23);  // two are subnormal
}

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
