// Products with one weight type and one input that share a launch: maps a CUDA block to its
// product. If there are several token blocks they are the grid's x, so that concurrent CUDA blocks
// read the same weights; blocks of rows are y, and go on in z where y has no room. For .cu files.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>

#include "kernels/cuda/device/launch.h"
#include "kernels/cuda/products/product_kernels.h"

namespace satchel::kernels::cuda {

// A product without what it shares with its neighbours.
struct ProductPart {
  const std::byte* bytes = nullptr;
  float* out = nullptr;
  const float* bias = nullptr;
  const float* factors = nullptr;  // as DeviceMatrix has them
  float* parts = nullptr;          // [n_splits][n_tokens][n_out], where a sum has several splits
  unsigned n_out = 0;
  unsigned first_block = ~0u;  // of rows, among those of the group
  bool is_added = false;

  __device__ __forceinline__ void put(unsigned token, unsigned row, float sum) const {
    float* to = out + std::size_t{token} * n_out + row;
    if (bias != nullptr) sum += bias[row];
    *to = is_added ? *to + sum : sum;
  }
  friend bool operator==(const ProductPart&, const ProductPart&) = default;
};

struct ProductGroup {
  unsigned n_tokens = 0, n_in = 0;
  TilePlan plan = {};
  ProductPart parts[kProductsMax] = {};

  // The product that has a block of rows; constants as indices, so that parts stay where arguments
  // are.
  __device__ __forceinline__ ProductPart part_of(unsigned block) const {
    ProductPart part = parts[0];
#pragma unroll
    for (unsigned i = 1; i < kProductsMax; ++i)
      if (block >= parts[i].first_block) part = parts[i];
    return part;
  }
  friend bool operator==(const ProductGroup&, const ProductGroup&) = default;
};

inline dim3 grid_of(unsigned n_token_blocks, unsigned n_row_blocks) {
  const unsigned n_z = blocks_of(n_row_blocks, kGridMost);
  return dim3(n_token_blocks, n_z == 0 ? 0 : blocks_of(n_row_blocks, n_z), n_z);
}
// Of grid_of(); the last of them may lie behind all rows.
__device__ __forceinline__ unsigned row_block() {
  return blockIdx.z * gridDim.y + blockIdx.y;
}

// Of products of one type and n_in, at most kProductsMax. n_blocks: of rows, for all.
inline ProductGroup group_of(std::span<const Product> products, std::size_t n_tokens,
                             unsigned rows_of_block, unsigned& n_blocks) {
  const DeviceMatrix& first = *products[0].weight;
  ProductGroup group;
  group.n_tokens = static_cast<unsigned>(n_tokens);
  group.n_in = first.n_in;
  group.plan = first.plan;
  n_blocks = 0;
  for (std::size_t i = 0; i < products.size(); ++i) {
    const Product& each = products[i];
    group.parts[i] = {.bytes = each.weight->bytes,
                      .out = each.out,
                      .bias = each.bias,
                      .factors = each.weight->factors,
                      .n_out = each.weight->n_out,
                      .first_block = n_blocks,
                      .is_added = each.is_added};
    n_blocks += blocks_of(each.weight->n_out, rows_of_block);
  }
  return group;
}

}  // namespace satchel::kernels::cuda
