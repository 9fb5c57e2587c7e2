// Matrix instructions, over the 32 lanes of a warp, with operands laid out as PTX documents them.
//   sums    products are exact, a sum is formed in fp64 and rounded once: a card rounds (or cuts
//           off) along the way, so results agree to some 1e-7 of the largest summand, not bit for
//           bit
//           bit; those of bytes are exact on both
//   source  PTX ISA 8.5, 9.7.14.5 (mma.m16n8k16, m16n8k32)
#pragma once

#include <cstdint>

namespace simt {

// d = a · b + c, fp16 operands, fp32 sums: a [16, 16] row by row, b [16, 8], c and d [16, 8].
void mma_16x8x16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
                 const float (&c)[4]);

// d += a · b, bytes without sign times signed ones, int32 sums: a [16, 32], b [32, 8]; or their
// half.
void mma_bytes_16x8x32(int (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]);
void mma_bytes_16x8x16(int (&d)[4], std::uint32_t a_above, std::uint32_t a_below, std::uint32_t b);

}  // namespace simt
