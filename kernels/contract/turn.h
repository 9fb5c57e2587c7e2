// The turns that an operand may lie under in its page (page_layout.h), as every backend in main
// memory computes them: each step is one rounding of fp32 in a fixed order, so that the codes made
// from turned values are the same bytes on any machine.
//   hadamard  over blocks of n = the largest power of two that divides head_dim: the normalised
//             Walsh-Hadamard transform in natural (Sylvester) order, butterflies of distance 1, 2,
//             4 … n / 2, then times 1 / sqrt(n). It is its own inverse, and q·k = turn(q)·turn(k)
//   basis     k' = k · to, k = k' · fromᵀ, q' = q · from (Basis), each sum from the first entry on; k
//             and q turned back by the frame before, k forward again behind (rotate_rows)
//   source    Fino and Algazi 1976 (the fast transform); arXiv:2404.00456 (QuaRot: why turned keys
//             quantise better)
#pragma once

#include <cstddef>

#include "kernels/contract/page_layout.h"

namespace satchel::kernels {

// The largest power of two that divides head_dim.
constexpr std::size_t turn_block(std::size_t head_dim) {
  return head_dim & (~head_dim + 1);
}

// rows [n_rows, head_dim], in place; head_dim <= 256; by none or hadamard. Turning twice gives the rows
// back but for rounding.
void turn_rows(Turn turn, float* rows, std::size_t n_rows, std::size_t head_dim);

// Where the frame begins that the keys of a page stand in (Basis): the last multiple of kFrameTokens
// before the page's first slot, as its bytes have it (no shift counts); 0 without a basis or RoPE.
//   page  in main memory, its first slot filled
std::int32_t frame_of(const OperandLayout& keys, std::int32_t first_position);
std::int32_t frame_of(const PageLayout& layout, const std::byte* page);

// Each pair of values turned: turns [n_pairs] of cosine and sine; in place. Values behind the pairs
// stay.
void rotate_pairs(RopePairs pairs, std::size_t n_pairs, const float* turns, float* rows,
                  std::size_t n_rows, std::size_t head_dim);
// RoPE by so many positions more: angles in float64, sine and cosine rounded to fp32 once; in place.
void rotate_rows(const RopeTable& rope, std::int32_t by, float* rows, std::size_t n_rows,
                 std::size_t head_dim);

// The same for whatever an operand lies turned by: rows into its coordinates, out of them again, and
// queries so that their products with turned rows stay what they were. frame: of the page.
void turn_into(const OperandLayout& operand, std::int32_t frame, float* rows, std::size_t n_rows,
               std::size_t head_dim);
void turn_out(const OperandLayout& operand, std::int32_t frame, float* rows, std::size_t n_rows,
              std::size_t head_dim);
void turn_queries(const OperandLayout& operand, std::int32_t frame, float* rows, std::size_t n_rows,
                  std::size_t head_dim);

}  // namespace satchel::kernels
