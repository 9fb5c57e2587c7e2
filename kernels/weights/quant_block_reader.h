// Unpacks a block of a quantised weight from its file format for the repacker: codes in order,
// scales as their stored integers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/base/half.h"
#include "kernels/contract/weight_type.h"

namespace satchel::kernels {

// A unit (quant_format.h) of one row. A reader does not write fields that its format lacks.
struct QuantBlock {
  std::array<std::uint8_t, 256> codes;
  std::array<std::uint8_t, 32> scale_codes;  // scales in order, then minima
  Half scale, minimum;                       // of the block, or the factors of the scale codes
  std::uint8_t exponent;
};

using QuantBlockReader = void (*)(const std::byte* block, QuantBlock& out);

// Null for a type that is not repacked.
QuantBlockReader quant_block_reader(WeightType type);

}  // namespace satchel::kernels
