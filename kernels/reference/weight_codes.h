// The values of the 4-bit codes of table types; a code is an index.
//   source  ggml's formats, as the Python package gguf reads them
#pragma once

#include <array>
#include <cstdint>

namespace satchel::kernels {

inline constexpr std::array<std::int8_t, 16> kIq4Values = {
    -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};
// Twice the values of OCP's E2M1.
inline constexpr std::array<std::int8_t, 16> kFp4Values = {0, 1,  2,  3,  4,  6,  8,  12,
                                                           0, -1, -2, -3, -4, -6, -8, -12};

}  // namespace satchel::kernels
