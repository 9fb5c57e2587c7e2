// The transforms of an operand in its page (Transform in page_layout.h), as every backend in main
// memory computes them. Each step rounds to fp32 once and in a fixed order, so the codes of
// transformed values are the same bytes on any machine.
//   hadamard  over blocks of n = the largest power of two that divides head_dim: the normalised
//             Walsh-Hadamard transform in natural (Sylvester) order, butterflies of distance 1, 2,
//             4 … n / 2, then times 1 / sqrt(n). It is its own inverse, and q·k = T(q)·T(k)
//   basis     k' = k · to, k = k' · fromᵀ, q' = q · from (Basis); sums start at the first entry.
//             Before it, RoPE of k and q is rotated back by the frame; after decoding, k is
//             rotated forward again (rotate_rows).
//   source    Fino and Algazi 1976 (the fast transform); arXiv:2404.00456 (QuaRot: why transformed
//             keys quantise better)
#pragma once

#include <cstddef>

#include "kernels/contract/page_layout.h"

namespace satchel::kernels {

// The largest power of two that divides head_dim.
constexpr std::size_t hadamard_block(std::size_t head_dim) {
  return head_dim & (~head_dim + 1);
}

// Transforms rows [n_rows, head_dim] in place; head_dim <= kHeadDimMax; none or hadamard. A
// second call restores the rows, except for rounding.
void transform_rows(Transform transform, float* rows, std::size_t n_rows, std::size_t head_dim);

// The first position of the frame of a page's keys (Basis): the last multiple of kFrameTokens that
// is not behind the page's first slot. Shifts do not count. 0 without a basis or RoPE.
//   page  in main memory, with its first slot filled
std::int32_t frame_of(const OperandLayout& keys, std::int32_t first_position);
std::int32_t frame_of(const PageLayout& layout, const std::byte* page);

// Applies RoPE for `by` more positions, in place; values after the last pair do not change. Angles
// are float64; sine and cosine are rounded to fp32 once.
void rotate_rows(const RopeTable& rope, std::int32_t by, float* rows, std::size_t n_rows,
                 std::size_t head_dim);

// The transform of any operand: rows into its coordinates and back, and queries such that their
// products with transformed rows do not change. `frame` is the page's.
void transform_into(const OperandLayout& operand, std::int32_t frame, float* rows,
                    std::size_t n_rows, std::size_t head_dim);
void transform_out(const OperandLayout& operand, std::int32_t frame, float* rows,
                   std::size_t n_rows, std::size_t head_dim);
void transform_queries(const OperandLayout& operand, std::int32_t frame, float* rows,
                       std::size_t n_rows, std::size_t head_dim);

}  // namespace satchel::kernels
