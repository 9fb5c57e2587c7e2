// Products with experts that share a launch: maps a block of rows to its product. Those of the
// second product come behind those of the first. For .cu files.
#pragma once

#include <cuda_runtime.h>

#include "kernels/cuda/experts/expert_products.h"
#include "kernels/cuda/products/product_group.h"

namespace satchel::kernels::cuda {

struct ExpertGroup {
  ExpertProduct products[kExpertProductsMost] = {};
  unsigned n_out = 0, n_in = 0, blocks_of_product = 0, n_blocks = 0, pairs_of_row = 1;
  TilePlan plan = {};

  // The product that has a block of rows, which is then counted within it.
  __device__ __forceinline__ ProductPart part_of(std::uint32_t expert, unsigned& block) const {
    const bool is_first = block < blocks_of_product;
    const ExpertProduct& product = is_first ? products[0] : products[1];
    if (!is_first) block -= blocks_of_product;
    const ExpertMatrix matrix = product.each[expert];
    ProductPart part;
    part.bytes = matrix.bytes;
    part.out = product.out;
    part.bias = matrix.bias;
    part.factors = matrix.factors;
    part.n_out = n_out;
    return part;
  }
  friend bool operator==(const ExpertGroup&, const ExpertGroup&) = default;
};

inline ExpertGroup expert_group(const DeviceMatrix& like, std::span<const ExpertProduct> products,
                                unsigned pairs_of_row, unsigned rows_of_block) {
  SATCHEL_ASSERT(products.size() <= kExpertProductsMost);
  ExpertGroup group{.n_out = like.n_out,
                    .n_in = like.n_in,
                    .blocks_of_product = blocks_of(like.n_out, rows_of_block),
                    .pairs_of_row = pairs_of_row,
                    .plan = like.plan};
  group.n_blocks = group.blocks_of_product * static_cast<unsigned>(products.size());
  for (std::size_t i = 0; i < products.size(); ++i) group.products[i] = products[i];
  return group;
}

}  // namespace satchel::kernels::cuda
