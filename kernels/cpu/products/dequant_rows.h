// Decodes rows of quantised types that are not repacked to fp32 on the fly: the 1- to 3-bit IQ
// types with AVX2 (which every level has), the others like the reference.
//   row, out  as in dequantise_row(), with the same bits
#pragma once

#include <cstddef>

#include "kernels/contract/weight_type.h"

namespace satchel::kernels::cpu {

// ahead_bytes: how far ahead it asks for what it will read.
void read_plain_row(WeightType type, const std::byte* row, std::size_t n_values,
                    std::size_t ahead_bytes, float* out);

// Reads a block, for the types that dequant_rows_avx2.cpp knows; else null.
using PlainBlock = void (*)(const std::byte* block, float* out);
PlainBlock plain_block_avx2(WeightType type);

}  // namespace satchel::kernels::cpu
