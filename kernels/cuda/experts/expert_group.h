// What the kernels of multiply_experts() share: blocks of rows are the grid's x, those of the first
// product before those of the second, and units its y. For .cu files.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/experts/expert_products.h"
#include "kernels/cuda/products/product_group.h"

namespace satchel::kernels::cuda {

struct ExpertGroup {
  ExpertProduct products[kExpertProductsMost] = {};
  unsigned n_out = 0, n_in = 0, blocks_of_product = 0, pairs_of_row = 1;
  TilePlan plan = {};
  const ExpertUnit* units = nullptr;

  // This block's product, and its block of rows.
  __device__ __forceinline__ ProductPart part_of(std::uint32_t expert, unsigned& block) const {
    const bool is_first = blockIdx.x < blocks_of_product;
    const ExpertProduct& product = is_first ? products[0] : products[1];
    block = is_first ? blockIdx.x : blockIdx.x - blocks_of_product;
    const ExpertMatrix matrix = product.each[expert];
    ProductPart part;
    part.bytes = matrix.bytes;
    part.out = product.out;
    part.bias = matrix.bias;
    part.n_out = n_out;
    return part;
  }
  friend bool operator==(const ExpertGroup&, const ExpertGroup&) = default;
};

inline ExpertGroup expert_group(const DeviceMatrix& like, std::span<const ExpertProduct> products,
                                const ExpertInput& input, unsigned rows_of_block) {
  SATCHEL_ASSERT(products.size() <= kExpertProductsMost);
  ExpertGroup group{.n_out = like.n_out,
                    .n_in = like.n_in,
                    .blocks_of_product = blocks_of(like.n_out, rows_of_block),
                    .pairs_of_row = input.pairs_of_row,
                    .plan = like.plan,
                    .units = input.units};
  for (std::size_t i = 0; i < products.size(); ++i) group.products[i] = products[i];
  return group;
}
inline dim3 grid_of(const ExpertGroup& group, std::size_t n_products, const ExpertInput& input) {
  return dim3(group.blocks_of_product * static_cast<unsigned>(n_products), input.n_pairs);
}

}  // namespace satchel::kernels::cuda
