// The components of each quantised weight type, as constants for the backends' repackers and
// kernels. Byte orders belong to the backends: cpu/products/repacked_weight.h,
// cuda/weights/tile_layout.h. To add a type, add a row to kQuantFormats and a reader to
// quant_block_reader.cpp; for CUDA also its name to cuda/weights/tile_types.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/contract/weight_type.h"
#include "kernels/reference/weight_codes.h"

namespace satchel::kernels {

inline constexpr std::size_t kGroupRows = 16;    // interleaved rows
inline constexpr std::size_t kBlockValues = 32;  // values of a row under one activation scale
inline constexpr std::size_t kBlockPairs = kBlockValues / 2;

inline constexpr int kByteOffset = 128;  // makes 8-bit codes unsigned for byte dot products

enum class ScaleForm : std::uint8_t {
  half,      // an fp16 for each block, and another for its minimum
  exponent,  // a byte for each block: 2^(byte - 128)
  codes,     // small integers times one fp16 (minima: another) for eight blocks
};

// value = scale * (code - offset), scale * table[code] or scale * code + minimum. A unit is the
// smallest piece with its own scales: one block, or eight of them.
struct QuantFormat {
  WeightType type = WeightType::f32;
  int code_bits = 0;  // 2 to 6 unsigned; 8 signed; 0: this type is not repacked
  int offset = 0;     // with a table: added to make its values unsigned
  const std::array<std::int8_t, 16>* table = nullptr;
  bool has_minimum = false;
  ScaleForm form = ScaleForm::half;
  std::size_t scales = 1;      // in a block, and as many minima
  std::size_t scale_bits = 0;  // of a scale code: 4, 6 or 8
  int scale_offset = 0;        // scale = fp16 * (scale code - scale_offset)

  constexpr std::size_t blocks() const { return form == ScaleForm::codes ? 8 : 1; }  // of a unit
  constexpr std::size_t low_bits() const {  // of a code; the others are in an upper plane
    return code_bits < 4 ? 2 : code_bits < 8 ? 4 : 8;
  }
  constexpr int most_code() const {  // unsigned
    if (table == nullptr) return (1 << code_bits) - 1;
    int most = 0;
    for (const std::int8_t value : *table) most = value > most ? value : most;
    return most + offset;
  }
  // How many sums of two products with 8-bit activations fit into 16 bits.
  constexpr int pairs_in_16_bits() const { return 32767 / (2 * 127 * most_code()); }
  constexpr std::size_t code_bytes() const {  // of one block of a group
    return kGroupRows * kBlockValues * static_cast<std::size_t>(code_bits) / 8;
  }
  constexpr std::size_t scale_codes() const {  // of one row of a unit: scales, then minima
    return form == ScaleForm::codes ? blocks() * scales * (has_minimum ? 2 : 1) : 0;
  }
  constexpr std::size_t scale_code_bytes() const { return scale_codes() * scale_bits / 8; }
  constexpr std::size_t scale_bytes() const {  // of one unit of a group
    const std::size_t factors = form == ScaleForm::exponent ? 1 : has_minimum ? 4 : 2;
    return kGroupRows * (scale_code_bytes() + factors);
  }
  constexpr std::size_t unit_bytes() const { return blocks() * code_bytes() + scale_bytes(); }
};

inline constexpr QuantFormat kQuantFormats[] = {
    {.type = WeightType::q4_0, .code_bits = 4, .offset = 8},
    {.type = WeightType::q4_1, .code_bits = 4, .has_minimum = true},
    {.type = WeightType::q5_0, .code_bits = 5, .offset = 16},
    {.type = WeightType::q5_1, .code_bits = 5, .has_minimum = true},
    {.type = WeightType::q8_0, .code_bits = 8},
    {.type = WeightType::q2_k,
     .code_bits = 2,
     .has_minimum = true,
     .form = ScaleForm::codes,
     .scales = 2,
     .scale_bits = 4},
    {.type = WeightType::q3_k,
     .code_bits = 3,
     .offset = 4,
     .form = ScaleForm::codes,
     .scales = 2,
     .scale_bits = 6,
     .scale_offset = 32},
    {.type = WeightType::q4_k,
     .code_bits = 4,
     .has_minimum = true,
     .form = ScaleForm::codes,
     .scale_bits = 6},
    {.type = WeightType::q5_k,
     .code_bits = 5,
     .has_minimum = true,
     .form = ScaleForm::codes,
     .scale_bits = 6},
    {.type = WeightType::q6_k,
     .code_bits = 6,
     .offset = 32,
     .form = ScaleForm::codes,
     .scales = 2,
     .scale_bits = 8,
     .scale_offset = 128},
    {.type = WeightType::iq4_nl, .code_bits = 4, .offset = 128, .table = &kIq4Values},
    {.type = WeightType::iq4_xs,
     .code_bits = 4,
     .offset = 128,
     .table = &kIq4Values,
     .form = ScaleForm::codes,
     .scale_bits = 6,
     .scale_offset = 32},
    {.type = WeightType::mxfp4,
     .code_bits = 4,
     .offset = 12,
     .table = &kFp4Values,
     .form = ScaleForm::exponent},
};

// The values of the codes of a table type, made unsigned.
struct UnsignedTable {
  std::uint8_t bytes[16] = {};
};
constexpr UnsignedTable unsigned_table(const QuantFormat& format) {
  UnsignedTable out;
  for (std::size_t i = 0; i < 16 && format.table != nullptr; ++i)
    out.bytes[i] = static_cast<std::uint8_t>((*format.table)[i] + format.offset);
  return out;
}

// code_bits is 0 for a type that is not repacked.
constexpr QuantFormat quant_format(WeightType type) {
  for (const QuantFormat& format : kQuantFormats)
    if (format.type == type) return format;
  return {};
}

}  // namespace satchel::kernels
