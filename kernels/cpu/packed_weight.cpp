#include "kernels/cpu/packed_weight.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "kernels/base/assert.h"
#include "kernels/base/half.h"

namespace satchel::kernels::cpu {
namespace {

// 32 values of one row as the file has them, in order, apart from their packing.
struct Block {
  std::array<std::uint8_t, kBlockValues> codes{};
  std::array<float, 2> scales{};
  float minimum = 0;
};

template <class T>
T load(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}
float load_half(const std::byte* at) {
  return half_to_float(load<Half>(at));
}
std::uint8_t byte_at(const std::byte* at, std::size_t i) {
  return std::to_integer<std::uint8_t>(at[i]);
}

void read_nibbles(const std::byte* at, Block& out) {
  for (std::size_t i = 0; i < 16; ++i) {
    out.codes[i] = byte_at(at, i) & 15;
    out.codes[i + 16] = byte_at(at, i) >> 4;
  }
}
void add_fifth_bits(const std::byte* at, Block& out) {
  const auto fifth = load<std::uint32_t>(at);
  for (std::size_t i = 0; i < kBlockValues; ++i)
    out.codes[i] = static_cast<std::uint8_t>(out.codes[i] | ((fifth >> i) & 1u) << 4);
}

// The formats are described in kernels/reference/dequant.cpp, which the tests hold this against.
void read_q4_k(const std::byte* super, std::size_t group, Block& out) {
  const std::byte* packed = super + 4;
  int scale = byte_at(packed, group) & 63;
  int minimum = byte_at(packed, group + 4) & 63;
  if (group >= 4) {
    scale = (byte_at(packed, group + 4) & 15) | (byte_at(packed, group - 4) >> 6) << 4;
    minimum = (byte_at(packed, group + 4) >> 4) | (byte_at(packed, group) >> 6) << 4;
  }
  out.scales[0] = load_half(super) * static_cast<float>(scale);
  out.minimum = -load_half(super + 2) * static_cast<float>(minimum);
  const std::byte* codes = super + 16 + group / 2 * 32;
  for (std::size_t i = 0; i < kBlockValues; ++i)
    out.codes[i] = (byte_at(codes, i) >> (group % 2 * 4)) & 15;
}

void read_q6_k(const std::byte* super, std::size_t group, Block& out) {
  const std::size_t half = group / 4, run = group % 4;
  const std::byte* low = super + half * 64 + run % 2 * 32;
  const std::byte* high = super + 128 + half * 32;
  const std::byte* scales = super + 192 + half * 8 + run * 2;
  const float d = load_half(super + 208);
  for (std::size_t s = 0; s < 2; ++s)
    out.scales[s] = d * static_cast<float>(load<std::int8_t>(scales + s));
  for (std::size_t i = 0; i < kBlockValues; ++i)
    out.codes[i] = static_cast<std::uint8_t>(((byte_at(low, i) >> (run / 2 * 4)) & 15) |
                                             ((byte_at(high, i) >> (run * 2)) & 3) << 4);
}

void read_block(WeightType type, const std::byte* row, std::size_t index, Block& out) {
  const WeightTypeTraits& traits = weight_type_traits(type);
  const std::size_t blocks_each = traits.block_values / kBlockValues;
  const std::byte* at = row + index / blocks_each * traits.block_bytes;
  if (type == WeightType::q4_k) return read_q4_k(at, index % blocks_each, out);
  if (type == WeightType::q6_k) return read_q6_k(at, index % blocks_each, out);
  out.scales[0] = load_half(at);
  if (type == WeightType::q8_0) {
    std::memcpy(out.codes.data(), at + 2, kBlockValues);
    return;
  }
  at += 2;
  if (packed_shape(type).has_minimum) {
    out.minimum = load_half(at);
    at += 2;
  }
  const bool five = packed_shape(type).code_bits == 5;
  read_nibbles(five ? at + 4 : at, out);
  if (five) add_fifth_bits(at, out);
}

// Writes the words of one row into the codes of its group's block.
void write_codes(const PackedShape& shape, const Block& block, std::size_t row, std::byte* codes) {
  constexpr std::size_t kWords = 2 * kGroupRows;  // in a vector
  const auto& c = block.codes;
  if (shape.code_bits == 8) {
    for (std::size_t p = 0; p < kBlockPairs; ++p)
      std::memcpy(codes + p * kWords + 2 * row, &c[2 * p], 2);
    return;
  }
  const auto store = [&](std::size_t vector, std::size_t parity, unsigned bits) {
    const auto word = static_cast<std::uint16_t>(bits);
    std::memcpy(codes + (vector * kWords + 2 * row + parity) * 2, &word, sizeof word);
  };
  const auto high = [&](std::size_t i) { return static_cast<unsigned>(c[i] >> 4); };
  for (std::size_t e = 0; e < 2; ++e) {
    for (std::size_t v = 0; v < 4; ++v) {
      const std::uint8_t* at = &c[8 * v + e];
      store(v, e, (at[0] & 15u) | (at[2] & 15u) << 4 | (at[4] & 15u) << 8 | (at[6] & 15u) << 12);
    }
    unsigned word = 0;
    if (shape.code_bits == 5) {
      for (std::size_t p = 0; p < kBlockPairs; ++p) word |= high(2 * p + e) << p;
      store(4, e, word);
    }
    if (shape.code_bits == 6)
      for (std::size_t v = 0; v < 2; ++v) {
        word = 0;
        for (std::size_t i = 0; i < 8; ++i) word |= high(16 * v + 2 * i + e) << (2 * i);
        store(4 + v, e, word);
      }
  }
}

void write_scales(const PackedShape& shape, const Block& block, std::size_t row,
                  std::byte* scales) {
  std::array<float, 3> values = {block.scales[0], block.scales[1], 0};
  std::size_t n = shape.scales;
  if (shape.has_minimum) values[n++] = block.minimum;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t at = i * kGroupRows + row;
    const Half half = float_to_half(values[i]);  // exact: it was one
    if (shape.half_scales)
      std::memcpy(scales + at * sizeof half, &half, sizeof half);
    else
      std::memcpy(scales + at * sizeof(float), &values[i], sizeof(float));
  }
}

}  // namespace

Result<PackedWeight> PackedWeight::make(ThreadPool& pool, const WeightSource& source) {
  const PackedShape shape = packed_shape(source.type);
  SATCHEL_ASSERT(shape.code_bits != 0);
  PackedWeight out;
  out.n_groups_ = (source.n_out + kGroupRows - 1) / kGroupRows;
  out.n_blocks_ = source.n_in / kBlockValues;
  out.group_bytes_ = out.n_blocks_ * shape.block_bytes();
  SATCHEL_TRY_ASSIGN(out.memory_, AlignedBuffer::make(out.n_groups_ * out.group_bytes_));

  const std::size_t row_size = *row_bytes(source.type, source.n_in);
  pool.parallel_for(out.n_groups_, 4, [&](std::size_t begin, std::size_t end, std::size_t) {
    for (std::size_t row = begin * kGroupRows; row < std::min(end * kGroupRows, source.n_out);
         ++row) {
      std::byte* group = out.memory_.data() + row / kGroupRows * out.group_bytes_;
      for (std::size_t b = 0; b < out.n_blocks_; ++b) {
        Block block;
        read_block(source.type, source.bytes.data() + row * row_size, b, block);
        std::byte* at = group + b * shape.block_bytes();
        write_codes(shape, block, row % kGroupRows, at);
        write_scales(shape, block, row % kGroupRows, at + shape.code_bytes());
      }
    }
  });
  return out;
}

}  // namespace satchel::kernels::cpu
