// The update of a thread's sums for a step of 32 values, for decoding with tiles, whatever the
// number of tokens. For .cu files.
//   thread  of the warp: for 16 rows and 4 tokens it has the outputs (row thread / 4 + 8 i, token
//           thread % 4), i = 0, 1
//   sum     acc = fmaf(weight's scale · token's scale, integer, acc), then the minimum's
//           fmaf(minimum, token's scale · sum of its integers, acc), group by group
//   parts   a row's chunks c are divided into kParts by c % kParts (split-K). Each part is summed
//           from 0 over rising chunks; then the parts are added in order.
//   exact   |code - offset| <= 128 and |activation| <= 32639: 32 products stay in 31 bits
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/primitives/byte_mma.h"
#include "kernels/cuda/products/operands.h"
#include "kernels/cuda/weights/tile_layout.h"

namespace satchel::kernels::cuda {

inline constexpr unsigned kParts = 8;

// A thread's two rows: scales and minima of a group.
struct RowPair {
  float scale[2], minimum[2];
};

// sum: of the token's integers; weighted: that times their scale.
template <WeightType kType>
__device__ __forceinline__ void add_group(const int (&product)[4], int sum, float weighted,
                                          float token_scale, const RowPair& rows, float (&acc)[2]) {
  constexpr TileShape kShape = tile_shape(kType);
  for (unsigned i = 0; i < 2; ++i) {
    const int both = product[2 * i] * 256 + product[2 * i + 1] - kShape.offset * sum;
    acc[i] = fmaf(rows.scale[i] * token_scale, static_cast<float>(both), acc[i]);
    if constexpr (kShape.has_minimum) acc[i] = fmaf(rows.minimum[i], weighted, acc[i]);
  }
}

// rows: of the step's groups, one or two.
template <WeightType kType>
__device__ __forceinline__ void add_step(const std::uint32_t (&a)[4], const uint2& b,
                                         const StepOfToken& token, const RowPair* rows,
                                         float (&acc)[2]) {
  int product[4] = {};
  if constexpr (tile_shape(kType).group_values == kStepValues) {
    multiply_add(product, a, b);
    add_group<kType>(product, token.sums[0] + token.sums[1], token.weighted, token.scale, rows[0],
                     acc);
  } else {
    int second[4] = {};
    multiply_add_half(product, a[0], a[1], b.x);
    multiply_add_half(second, a[2], a[3], b.y);
    add_group<kType>(product, token.sums[0], token.scale * static_cast<float>(token.sums[0]),
                     token.scale, rows[0], acc);
    add_group<kType>(second, token.sums[1], token.scale * static_cast<float>(token.sums[1]),
                     token.scale, rows[1], acc);
  }
}

}  // namespace satchel::kernels::cuda
