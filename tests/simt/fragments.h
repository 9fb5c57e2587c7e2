// The matrix instructions, over the 32 lanes of a warp, with operands laid out as PTX documents
// them.
//   sums    products are exact, a sum is formed in fp64 and rounded once: a card rounds (or cuts
//           off) along the way, so results agree to some 1e-7 of the largest summand, not bit for
//           bit
//   source  PTX ISA 8.5, 9.7.14.5 (mma.m16n8k8, m16n8k16), 9.7.14.5.15 (ldmatrix), .16 (movmatrix)
#pragma once

#include <cstdint>

namespace simt {

// d = a · b + c, fp16 operands, fp32 sums: a [16, 16] row by row, b [16, 8], c and d [16, 8].
void mma_16x8x16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
                 const float (&c)[4]);
// The same with a [16, 8] and b [8, 8].
void mma_16x8x8(float (&d)[4], const std::uint32_t (&a)[2], std::uint32_t b, const float (&c)[4]);
// n (1, 2 or 4) matrices of 8 x 8 values of 16 bits; lane 8 i + r says where row r of matrix i
// lies.
void load_matrices(std::uint32_t* out, unsigned n, const void* row, bool transposed);
// One such matrix, transposed.
std::uint32_t transpose_matrix(std::uint32_t value);

}  // namespace simt
