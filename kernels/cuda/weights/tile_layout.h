// The layout of a quantised matrix in the card's memory: tiles of 16 rows, in the order in which
// the threads of a warp need them as operand A of mma.m16n8k32. So a thread loads whole words and
// no value moves between threads. Used by the packer (main memory), the kernels and embed().
//   tile     16 rows; rows past the last are 0. Values of a row in chunks of 64, the last filled up
//            with 0: two steps of 32 values, each one matrix instruction
//   codes    planes[chunk][thread][words], as many words as bits: the low 2, 4 or 8 bits of a code;
//            then another plane of its upper 1 or 2, where it has 3, 5 or 6. In step s register r
//            of a thread (0 … 3) holds the codes of values k … k + 3 of one row, a byte each: row =
//            thread / 4 + 8 · (r % 2), k = 32 s + 4 · (thread % 4) + 16 · (r / 2). Of the four each
//            lies 8 bits above the one before; the first
//              2 bits  in word s at bit 2 r
//              4 bits  in word 2 s + r / 2 at bit 4 · (r % 2)
//              8 bits  in word 4 s + r at bit 0
//              upper 1 bit   in word 0 at bit 4 s + r
//              upper 2 bits  in word s at bit 2 r
//   scales   [chunk][row][bytes]: what the scales of the chunk's groups are, then their minima:
//            fp16 (ScaleForm::half), exponents, or codes of 8 bits; and factors [unit][row] fp16
//            (scale and, where there is one, minimum) that codes are times
//   source   PTX ISA 8.5, "Matrix Fragments for mma.m16n8k32"; unpacking:
//            kernels/cuda/products/codes.h
#pragma once

#include <cstddef>

#include "kernels/cuda/primitives/ceil_div.h"
#include "kernels/weights/quant_format.h"

namespace satchel::kernels::cuda {

inline constexpr unsigned kTileRows = 16, kChunkValues = 64, kStepValues = 32;
inline constexpr unsigned kChunkSteps = kChunkValues / kStepValues;

// What a type's tiles are made of, as constants; no pointers, which code for a card could not
// follow.
struct TileShape {
  unsigned low_bits = 0, high_bits = 0;  // of a code; 0: the type has no tiles
  int offset = 0;                        // value = scale · (code - offset) + minimum
  bool has_table = false;  // the code's value is looked up (tile_table), offset taken off
  bool has_minimum = false;
  ScaleForm form = ScaleForm::half;
  int scale_offset = 0;       // of scale codes
  unsigned group_values = 0;  // that share a scale
  unsigned unit_values = 0;   // that share factors

  constexpr unsigned groups() const { return kChunkValues / group_values; }  // of a chunk
  constexpr unsigned kinds() const { return has_minimum ? 2 : 1; }           // scales, minima
  constexpr unsigned scale_bytes() const {                                   // of a row, a chunk
    return groups() * kinds() * (form == ScaleForm::half ? 2 : 1);
  }
  constexpr bool has_factors() const { return form == ScaleForm::codes; }
};

constexpr TileShape tile_shape(WeightType type) {
  const QuantFormat packed = quant_format(type);
  if (packed.code_bits == 0) return {};
  const auto low_bits = static_cast<unsigned>(packed.low_bits());
  return {.low_bits = low_bits,
          .high_bits = static_cast<unsigned>(packed.code_bits) - low_bits,
          .offset = packed.code_bits == 8 ? kByteOffset : packed.offset,
          .has_table = packed.table != nullptr,
          .has_minimum = packed.has_minimum,
          .form = packed.form,
          .scale_offset = packed.scale_offset,
          .group_values = packed.scales == 2 ? 16u : 32u,
          .unit_values = static_cast<unsigned>(packed.blocks()) * 32};
}
// What codes stand for, made unsigned by the offset.
constexpr UnsignedTable tile_table(WeightType type) {
  return unsigned_table(quant_format(type));
}

// Where the parts of a matrix lie, in bytes from its beginning.
struct TilePlan {
  unsigned n_chunks = 0, n_units = 0;  // of a row; units only where there are factors
  std::size_t low_at = 0, high_at = 0, scales_at = 0, factors_at = 0;  // in a tile, multiples of 16
  std::size_t tile_bytes = 0;
  friend bool operator==(const TilePlan&, const TilePlan&) = default;
};

constexpr TilePlan tile_plan(const TileShape& shape, std::size_t n_in) {
  constexpr auto whole = [](std::size_t bytes) { return (bytes + 15) / 16 * 16; };
  TilePlan plan;
  plan.n_chunks = static_cast<unsigned>((n_in + kChunkValues - 1) / kChunkValues);
  plan.n_units = shape.has_factors() ? static_cast<unsigned>(n_in / shape.unit_values) : 0;
  plan.high_at = whole(std::size_t{plan.n_chunks} * kWarp * shape.low_bits * 4);
  plan.scales_at = plan.high_at + whole(std::size_t{plan.n_chunks} * kWarp * shape.high_bits * 4);
  plan.factors_at =
      plan.scales_at + whole(std::size_t{plan.n_chunks} * kTileRows * shape.scale_bytes());
  plan.tile_bytes =
      plan.factors_at + whole(std::size_t{plan.n_units} * kTileRows * shape.kinds() * 2);
  return plan;
}

// A value's place: which thread holds it in which register of which step, in which of its bytes.
struct CodePlace {
  unsigned thread, step, reg, byte;
};
constexpr CodePlace code_place(unsigned row, unsigned value_of_chunk) {
  const unsigned k = value_of_chunk % kStepValues;
  return {.thread = row % 8 * 4 + k % 16 / 4,
          .step = value_of_chunk / kStepValues,
          .reg = row / 8 + k / 16 * 2,
          .byte = k % 4};
}

// Word and bit of a code's part of `bits` bits in its plane, among the words of a thread and chunk.
struct BitPlace {
  unsigned word, bit;
};
constexpr BitPlace bit_place(unsigned bits, const CodePlace& at) {
  const unsigned byte = 8 * at.byte;
  switch (bits) {
    case 1:
      return {0, 4 * at.step + at.reg + byte};
    case 2:
      return {at.step, 2 * at.reg + byte};
    case 4:
      return {2 * at.step + at.reg / 2, 4 * (at.reg % 2) + byte};
    default:
      return {4 * at.step + at.reg, byte};
  }
}

}  // namespace satchel::kernels::cuda
