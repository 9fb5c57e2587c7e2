// A block of a quantised weight as the file has it, taken apart for the repacker: codes in order,
// scales as the integers they are stored as.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernels/base/half.h"
#include "kernels/contract/weight_type.h"

namespace satchel::kernels {

// A unit (packed_shape.h) of one row; what its shape does not have stays as it is.
struct PackedUnit {
  std::array<std::uint8_t, 256> codes;
  std::array<std::uint8_t, 32> scale_codes;  // scales in order, then minima
  Half scale, minimum;                       // a block's, or what the scale codes are times
  std::uint8_t exponent;
};

using PackedReader = void (*)(const std::byte* block, PackedUnit& out);

// Null for a type that is not repacked.
PackedReader packed_reader(WeightType type);

}  // namespace satchel::kernels
