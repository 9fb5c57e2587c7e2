// Code books of the IQ types: an index of 8 to 11 bits stands for eight (IQ3: four) values. An
// entry is a word of eight 2-bit (IQ3: four 4-bit) fields, the first value's lowest; what a field
// stands for is in grid_blocks.h.
//   source  ggml's formats, as the Python package gguf holds them
//           (tests/oracle/make_weight_grids.py)
#pragma once

#include <cstdint>

namespace satchel::kernels {

extern const std::uint16_t kGridIq1[2048];
extern const std::uint16_t kGridIq2Xxs[256], kGridIq2Xs[512], kGridIq2S[1024];
extern const std::uint16_t kGridIq3Xxs[256], kGridIq3S[512];

}  // namespace satchel::kernels
