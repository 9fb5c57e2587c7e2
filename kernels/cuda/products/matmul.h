// Products with weights, and rows of them read back. Pointers are device memory.
//   order    the order of a sum depends on the weight's shape only, never on the number of tokens
//            or the kernel. So a token's result is the same bytes however a prompt is chunked.
//            Tiles: exact integers within a group of values; then the groups of a part of the row
//            in fp32, in order; then the parts, in order (group_sum.h). Rows of floats: 32 parts,
//            one per thread of a warp, added by butterflies.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/contract/weight_type.h"
#include "kernels/cuda/device/queue.h"
#include "kernels/cuda/products/operands.h"
#include "kernels/cuda/weights/tile_layout.h"

namespace satchel::kernels::cuda {

struct DeviceMatrix {
  WeightType type = WeightType::f32;  // f32, f16, bf16: rows as the file has them; else tiles
  unsigned n_out = 0, n_in = 0;
  const std::byte* bytes = nullptr;
  TilePlan plan = {};

  bool has_tiles() const { return plan.tile_bytes != 0; }
  friend bool operator==(const DeviceMatrix&, const DeviceMatrix&) = default;
};

// out [n_tokens, n_out] = x · weightᵀ + bias; or out += that.
struct Product {
  const DeviceMatrix* weight = nullptr;
  float* out = nullptr;
  const float* bias = nullptr;  // [n_out]; null: none
  bool is_added = false;
};
// One launch as long as types are alike. Tiles take the operands, the other types x itself.
cudaError_t multiply(Queue& queue, std::span<const Product> products, const float* x,
                     const Operands& operands, std::size_t n_tokens);
// out[i] = row ids[i], as the file's format defines it, bit for bit.
cudaError_t read_rows(Queue& queue, const DeviceMatrix& table, const std::int32_t* ids,
                      std::size_t n_ids, float* out);

}  // namespace satchel::kernels::cuda
