#include "kernels/cpu/products/repacked_weight.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/base/assert.h"
#include "kernels/cpu/levels/simd_inline.h"
#include "kernels/weights/quant_block_reader.h"

namespace satchel::kernels::cpu {
namespace {

constexpr std::size_t kWords = 2 * kGroupRows;  // in a vector

// Writes bits [kShift, kShift + kBits) of the 32 codes of one row's block, as many pairs to a word
// as it holds: of each four pairs two to the lower byte and two to the upper.
template <std::size_t kShift, std::size_t kBits>
void write_plane(const std::uint8_t* codes, std::size_t row, std::byte* vectors) {
  constexpr std::size_t kPairs = 16 / kBits;
  constexpr unsigned kMask = (1u << kBits) - 1;
  for (std::size_t vector = 0; vector < kBlockPairs / kPairs; ++vector)
    for (std::size_t e = 0; e < 2; ++e) {
      const std::uint8_t* first = codes + 2 * vector * kPairs + e;
      unsigned bits = 0;
      unroll<0, kPairs>([&](auto i) SATCHEL_INLINE_LAMBDA {
        constexpr std::size_t kPair = decltype(i)::value;
        constexpr std::size_t kBit = kPair / 2 % 2 * 8 + (kPair / 4 * 2 + kPair % 2) * kBits;
        bits |= (first[2 * i] >> kShift & kMask) << kBit;
      });
      const auto word = static_cast<std::uint16_t>(bits);
      std::memcpy(vectors + (vector * kWords + 2 * row + e) * 2, &word, sizeof word);
    }
}

// The codes of one row's block.
void write_codes(const QuantFormat& shape, const std::uint8_t* codes, std::size_t row,
                 std::byte* to) {
  if (shape.code_bits == 8) {
    for (std::size_t p = 0; p < kBlockPairs; ++p) {
      const std::size_t half_vector = p / 4 * 4 + p % 2 * 2 + p / 2 % 2;
      std::memcpy(to + half_vector * kWords + 2 * row, codes + 2 * p, 2);
    }
    return;
  }
  const std::size_t low = shape.low_bits(), high = static_cast<std::size_t>(shape.code_bits) - low;
  (low == 2 ? write_plane<0, 2> : write_plane<0, 4>)(codes, row, to);
  if (high == 0) return;
  const auto plane = low == 2    ? write_plane<2, 1>
                     : high == 1 ? write_plane<4, 1>
                                 : write_plane<4, 2>;
  plane(codes, row, to + kGroupRows * kBlockValues * low / 8);
}

// Byte `index` of a row's scale codes: see repacked_weight.h.
unsigned scale_byte(const QuantFormat& shape, const std::uint8_t* codes, std::size_t index) {
  const std::size_t half = shape.scale_codes() / 2;
  if (shape.scale_bits == 8) return codes[index];
  const std::uint8_t* second = codes + half;
  if (shape.scale_bits == 4) return codes[index] | static_cast<unsigned>(second[index]) << 4;
  if (index < half) return codes[index] | (second[index] >> 4 & 3u) << 6;
  second += index - half;
  return (second[0] & 15u) | (second[half / 2] & 15u) << 4;
}

// The scales of one row's unit.
void write_scales(const QuantFormat& shape, const QuantBlock& unit, std::size_t row,
                  std::byte* to) {
  if (shape.form == ScaleForm::exponent) {
    to[row] = static_cast<std::byte>(unit.exponent);
    return;
  }
  for (std::size_t i = 0; i < shape.scale_code_bytes(); ++i, to += kGroupRows)
    to[row] = static_cast<std::byte>(scale_byte(shape, unit.scale_codes.data(), i));
  std::memcpy(to + row * sizeof(Half), &unit.scale, sizeof(Half));
  if (shape.has_minimum)
    std::memcpy(to + (kGroupRows + row) * sizeof(Half), &unit.minimum, sizeof(Half));
}

}  // namespace

Result<RepackedWeight> RepackedWeight::make(ThreadPool& pool, const WeightSource& source) {
  const QuantFormat shape = quant_format(source.type);
  const QuantBlockReader read = quant_block_reader(source.type);
  SATCHEL_ASSERT(shape.code_bits != 0 && read != nullptr);
  RepackedWeight out;
  out.n_groups_ = (source.n_out + kGroupRows - 1) / kGroupRows;
  out.n_blocks_ = source.n_in / kBlockValues;
  const std::size_t n_units = out.n_blocks_ / shape.blocks();
  out.group_bytes_ = n_units * shape.unit_bytes();
  SATCHEL_TRY_ASSIGN(out.memory_, AlignedBuffer::make(out.n_groups_ * out.group_bytes_));

  const std::size_t unit_size = weight_type_traits(source.type).block_bytes;
  const std::size_t row_size = n_units * unit_size;
  const auto pack_row = [&](std::size_t row) {
    std::byte* at = out.memory_.data() + row / kGroupRows * out.group_bytes_;
    const std::byte* from = source.bytes.data() + row * row_size;
    QuantBlock unit{};
    for (std::size_t u = 0; u < n_units; ++u, from += unit_size, at += shape.unit_bytes()) {
      read(from, unit);
      for (std::size_t b = 0; b < shape.blocks(); ++b)
        write_codes(shape, &unit.codes[b * kBlockValues], row % kGroupRows,
                    at + b * shape.code_bytes());
      write_scales(shape, unit, row % kGroupRows, at + shape.blocks() * shape.code_bytes());
    }
  };
  pool.parallel_for(out.n_groups_, 4, [&](std::size_t begin, std::size_t end, std::size_t) {
    const std::size_t last = std::min(end * kGroupRows, source.n_out);
    for (std::size_t row = begin * kGroupRows; row < last; ++row) pack_row(row);
    const std::size_t first_byte = begin * kGroupRows * row_size;
    if (source.done_with)
      source.done_with(source.bytes.subspan(first_byte, last * row_size - first_byte));
  });
  return out;
}

}  // namespace satchel::kernels::cpu
