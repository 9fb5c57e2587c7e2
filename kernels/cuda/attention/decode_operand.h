// K or V of a layout in the form that decode attention reads: made on the host once for each
// layout, so that kernels look nothing up and divide nothing. operand_places.h makes it.
#pragma once

#include <cstdint>

namespace satchel::kernels::cuda {

enum class Form : std::uint8_t { halves, floats, codes, mixed };

// Byte offsets of a part's planes in shared memory; codes at 0.
struct CodePlaces {
  unsigned low = 0, scale = 0, zero = 0, bytes = 0;
  friend bool operator==(const CodePlaces&, const CodePlaces&) = default;
};

struct DecodeOperand {
  Form form = Form::halves;
  bool is_transformed = false;  // by Hadamard: queries or outputs must be too
  bool is_symmetric = false;
  std::uint8_t bits = 0;
  unsigned of_group = 0;                      // codes: 16 rows that share scales, so many times
  std::uint32_t values_at = 0, scale_at = 0;  // in the page; low codes and zeros follow them there
  CodePlaces places = {};
  friend bool operator==(const DecodeOperand&, const DecodeOperand&) = default;
};

}  // namespace satchel::kernels::cuda
