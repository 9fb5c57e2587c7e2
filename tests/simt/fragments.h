// Matrix instructions, over the 32 lanes of a warp, with operands laid out as PTX documents them.
//   sums    of fp16 products as a card's matrix units form them: so many products and what was
//           there before are aligned to the largest exponent among them, cut off behind the last
//           bit that is kept, added exactly, and the sum is cut off to fp32. Infinite and NaN
//           operands give what fp64 would. Those of bytes are exact, as on a card
//   source  PTX ISA 8.5, 9.7.14.5 (mma.m16n8k16, m16n8k32), for the layout. Sums: Fasi et al. 2021
//           (Turing, Ampere); Khattak, Mikaitis 2025 (arXiv:2512.07004) and Xie et al. 2025
//           (arXiv:2511.10909), whose models agree with each other and, as they tell, bit by bit
//           with cards of all kinds; held against no card here
#pragma once

#include <cstddef>
#include <cstdint>

namespace simt {

// How a kind of card forms sums. Machine::sums is the coarsest of those that are supported, so that
// limits which hold in the executor hold on every card.
struct MatrixSums {
  unsigned n_products;  // added at once: 8 or 16
  int bits;             // kept behind the point, where the largest exponent is 0
};
inline constexpr MatrixSums kSumsBeforeHopper{8, 24} /* sm_75 to sm_89 */,
    kSumsOfHopper{16, 25} /* sm_90 and sm_120 */;

// d = a · b + c, fp16 operands, fp32 sums: a [16, 16] row by row, b [16, 8], c and d [16, 8]. Sums
// as the machine's card forms them (Machine::sums).
void mma_16x8x16(float (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2],
                 const float (&c)[4]);

// d += a · b, bytes without sign times signed ones, int32 sums: a [16, 32], b [32, 8]; or their
// half.
void mma_bytes_16x8x32(int (&d)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]);
void mma_bytes_16x8x16(int (&d)[4], std::uint32_t a_above, std::uint32_t a_below, std::uint32_t b);

// Four 8x8 matrices of fp16 from memory, the address of row l % 8 of matrix l / 8 from lane l: 16
// bytes, aligned to that. Register i is matrix i's: row l / 4, values 2 · (l % 4) and the next;
// transposed: column l / 4 of these rows. (PTX ISA 8.5, ldmatrix)
void load_matrices(const std::byte* row, bool is_transposed, std::uint32_t (&out)[4]);

}  // namespace simt
