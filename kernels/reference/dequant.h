// Decodes blocks of quantised weights to fp32 by plain loops: the specification that tests compare
// every faster path with.
//   row     n_values values as stored: row_bytes(type, n_values) bytes, at any alignment
//   out     [n_values] fp32
//   needs   n_values is a multiple of the type's block_values; a stored scale of infinity or NaN
//           gives such values
//   math    every step rounds to fp32, in the order that dequant.cpp, dequant_k.cpp and
//           grid_blocks.h name: bit-exact
//   source  ggml's block formats; compared with the Python package gguf (tests/golden/weights)
#pragma once

#include <cstddef>

#include "kernels/contract/weight_type.h"

namespace satchel::kernels {

void dequantise_row(WeightType type, const std::byte* row, std::size_t n_values, float* out);

}  // namespace satchel::kernels
